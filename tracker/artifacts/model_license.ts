import { join } from "node:path";
import { readText } from "../ground/storage/plain_file.ts";
import { parseYaml } from "../ground/storage/read_yaml.ts";

/** Bytes of a card, and characters before its text: cards have long tables, but short heads. */
const LONGEST = 10_000_000;
const MOST_FRONT = 200_000;

/**
 * The licence that a model's own card names (`license:` before its text, as the hub has it); null where
 * the folder has no card, or one that names none as a plain word.
 */
export function licenseOf(model_directory: string): string | null {
  let card: string;
  try {
    card = readText(join(model_directory, "README.md"), LONGEST);
  } catch {
    return null; // a model without a card, or a single file: nothing is known
  }
  const [, front] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(card) ?? [];
  try {
    if (front === undefined || front.length > MOST_FRONT) return null;
    const license = (parseYaml(front) as { license?: unknown } | null)?.license;
    return typeof license === "string" && /^[A-Za-z0-9.+-]{1,64}$/.test(license) ? license : null;
  } catch {
    return null; // what cannot be read names no licence
  }
}
