/** What a whole run has measured, as a small file, and the page's tables of it. */
import { execa } from "execa";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { readLines } from "../cells/kept_lines.ts";
import { withTable } from "../cells/kept_tables.ts";
import { isQuantized, Row } from "../quantization/quantization_rows.ts";
import { KeptCell } from "../stages/stage_rows.ts";
import { type Alone, chainsTable } from "./chains.ts";
import type { Steps } from "./recipes.ts";
import { type RecoveryRow, recoveryTable } from "./recovery_rows.ts";

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
export const KEPT = file("./recovery.json");
export const PAGE = file("../../../docs/measurements/recovery.md");
const QUANTIZATION = file("../quantization/quantization.jsonl");
const STAGES = file("../stages/stages.jsonl");

export interface KeptRecovery {
  /** Of training, a recipe. */
  readonly minutes: number;
  readonly steps: Steps;
  readonly cores: number;
  readonly rows: readonly RecoveryRow[];
}

export async function keptRecovery(): Promise<KeptRecovery> {
  return JSON.parse(await readFile(KEPT, "utf8"));
}

/** Models that a quantizer or a codec alone has made in the other benchmarks, which time none. */
export async function quantizedElsewhere(): Promise<Alone[]> {
  const methods = readLines(Row, await readFile(QUANTIZATION, "utf8"));
  const codecs = readLines(KeptCell, await readFile(STAGES, "utf8"));
  const quantized = methods.filter(isQuantized)
    .filter(({ set, name }) => set === "methods" && name !== "original");
  return [...quantized, ...codecs].map(({ name, size_bytes, kl }) => (
    { name, size_bytes, latency_ratio: null, kl }
  ));
}

/** Both tables of the page, from what is kept. */
export async function pageTables(): Promise<{ recovery: string; chains: string }> {
  const { rows } = await keptRecovery();
  return {
    recovery: recoveryTable(rows),
    chains: chainsTable(rows, await quantizedElsewhere()),
  };
}

export async function writePage(): Promise<void> {
  const { recovery, chains } = await pageTables();
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, withTable(withTable(page, "recovery", recovery), "chains", chains));
  await execa(Deno.execPath(), ["fmt", "--quiet", PAGE]);
}
