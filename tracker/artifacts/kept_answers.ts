import { createHash } from "node:crypto";
import { access, appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { jsonOrNull } from "../ground/json_or_null.ts";

/** What made the answers of an artifact, each as a hash: others are kept apart. */
const MadeBy = z.object({
  evaluation: z.string(),
  environment: z.string(),
  method: z.string().optional(),
});
export type MadeBy = z.infer<typeof MadeBy>;

const WORDS: Readonly<Record<keyof MadeBy, string>> = {
  evaluation: "the code that evaluates",
  environment: "an environment's packages",
  method: "the code of its method",
};
const PARTS = Object.keys(WORDS) as (keyof MadeBy)[];

/** Where the answers of an artifact are kept. study: of what is not to be taken for another study's */
export function answersFile(
  root: string,
  artifact_id: string,
  { evaluation, environment, method }: MadeBy,
  study: string | undefined,
): string {
  const parts = [artifact_id, evaluation, environment, study, method];
  const key = parts.filter((part) => part !== undefined).join(" ");
  const name = createHash("sha256").update(key).digest("hex");
  return join(root, "answers", `${name}.jsonl`);
}

async function isThere(file: string): Promise<boolean> {
  return await access(file).then(() => true, () => false);
}

/**
 * Notes what makes the answers of an artifact now. Returns why those that are kept of it do not count, as
 * words; null: they do, or there are none.
 */
export async function whyAnew(
  root: string,
  artifact_id: string,
  made: MadeBy,
  file: string,
): Promise<string | null> {
  const notes = join(root, "answered", `${artifact_id}.jsonl`);
  const lines = (await readFile(notes, "utf8").catch(() => "")).split("\n");
  const earlier = lines.flatMap((line) => MadeBy.safeParse(jsonOrNull(line)).data ?? []);
  const changed = (one: MadeBy) => PARTS.filter((part) => one[part] !== made[part]);
  if (earlier.some((one) => changed(one).length === 0)) return null;
  try {
    await mkdir(dirname(notes), { recursive: true });
    await appendFile(notes, `${JSON.stringify(made)}\n`);
  } catch {
    // A disk that takes no note takes no answers either, which says so.
  }
  const last = earlier.at(-1);
  if (last === undefined || await isThere(file)) return null;
  const words = changed(last).map((part) => WORDS[part]).join(" and ");
  return `asked anew, as ${words} changed since answers of it were kept`;
}
