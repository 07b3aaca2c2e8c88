import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/**
 * The licence that a model's own card names (`license:` before its text, as the hub has it); null where
 * the folder has no card, or one that names none as a plain word.
 */
export function licenseOf(model_directory: string): string | null {
  let card: string;
  try {
    card = readFileSync(join(model_directory, "README.md"), "utf8");
  } catch {
    return null; // a model without a card, or a single file: nothing is known
  }
  const [, front] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(card) ?? [];
  try {
    const license: unknown = parse(front ?? "")?.license;
    return typeof license === "string" && /^[A-Za-z0-9.+-]{1,64}$/.test(license) ? license : null;
  } catch {
    return null; // what cannot be read names no licence
  }
}
