import { existsSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../ground/home.ts";
import type { Store } from "../../store/store.ts";
import { knownHash, linesAt } from "./file_lines.ts";
import type { Row } from "./studies.ts";

/** Characters of a prompt that a page shows. */
const MOST_CHARS = 2_000;
/** A file that is longer is not read for the sake of a page. */
const MOST_BYTES = 1 << 30;

/** The file that holds a task's rows: pare's own, or the one that the study was given, unchanged. */
async function fileOf(task: string, dataset: string, sha256: string | null) {
  if (!/^\w+$/.test(task)) return null;
  const shipped = join(PROJECT_ROOT, "plugins/evaluation/data", `${task}.jsonl`);
  if (existsSync(shipped)) return shipped;
  if (!dataset.endsWith(".jsonl") || sha256 === null || !existsSync(dataset)) return null;
  if (Deno.statSync(dataset).size > MOST_BYTES) return null;
  return await knownHash(dataset) === sha256 ? dataset : null;
}

/** What a row of data asks. */
function promptOf(line: string | undefined): string | null {
  if (line === undefined) return null;
  const row = JSON.parse(line) as Record<string, unknown>; // a file that the study was measured on
  const asked = row["question"] ?? row["prompt"] ?? row["text"];
  if (typeof asked !== "string") return null;
  const choices = Array.isArray(row["choices"]) ? row["choices"].map(String) : [];
  return [asked, ...choices.map((choice, at) => `${at}. ${choice}`)].join("\n")
    .slice(0, MOST_CHARS);
}

/** The prompts of samples; null where the store's machine has the data no more. */
export async function promptsOf(
  store: Store,
  study_id: string,
  samples: readonly Row[],
): Promise<(string | null)[]> {
  if (samples.length === 0) return [];
  const [study] = await store.ask(
    "SELECT dataset, dataset_sha256 FROM studies WHERE study_id = $study",
    { params: { study: study_id } },
  );
  const lines = new Map<string, Map<number, string>>();
  for (const [task, own] of Map.groupBy(samples, (sample) => String(sample["task"]))) {
    const sha256 = study?.["dataset_sha256"] ?? null;
    const file = await fileOf(
      task,
      String(study?.["dataset"] ?? ""),
      sha256 === null ? null : String(sha256),
    );
    const numbers = new Set(own.map((sample) => Number(sample["sample_id"])));
    if (file !== null) lines.set(task, await linesAt(file, numbers));
  }
  return samples.map((sample) => {
    const row = Number(sample["sample_id"]);
    const own = lines.get(String(sample["task"]));
    return Number.isInteger(row) ? promptOf(own?.get(row) || undefined) : null;
  });
}
