import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import {
  FULL,
  type ImportedRun,
  type ImportSource,
  type RunImported,
  type SampleResult,
  trialName,
  UsageError,
} from "../../../core/mod.ts";
import { toJson } from "../../store/journal/record_line.ts";
import type { Store } from "../../store/store.ts";
import { seriesParts } from "./series_parts.ts";

/** A figure of which its source says nothing but the name and the value. */
export const UNSAID = {
  unit: null,
  direction: null,
  n: null,
  standard_error: null,
  task: null,
  task_version: null,
  slice: null,
  few_shot: null,
  objective: null,
} as const;

/** A run as its source tells it; its place in the store is chosen here. */
export interface ForeignRun
  extends Omit<ImportedRun, "source" | "location" | "number" | "trial_id"> {
  /** Its number in its study; null: the next one that is free. */
  number: number | null;
  samples?: readonly SampleResult[];
  /** Values of it that the store cannot hold. */
  left_out?: readonly LeftOut[];
}

/** Something that cannot be taken over, and why. */
export interface LeftOut {
  /** A run, or a value of one. */
  readonly what: string;
  readonly why: string;
}

/** What a source gives in turn: one bad run does not keep the others from coming. */
export type Foreign = ForeignRun | { readonly left_out: LeftOut };

/** Whether it came. */
export function isRun(given: Foreign): given is ForeignRun {
  return "source_id" in given;
}

/** What an import did, in runs. */
export interface ImportReport {
  added: number;
  updated: number;
  unchanged: number;
  /** Studies that the runs stand in, in the order met. */
  study_ids: string[];
  /** What did not come, or not as it was. */
  left_out: LeftOut[];
}

interface Known {
  study_id: string;
  trial_id: string;
  number: number;
  content_hash: string | null;
}

/** The runs of a source that are here already, and the next free number of each study. */
async function knownRuns(store: Store, source: ImportSource) {
  const { caught_up, held_by } = await store.flush({ wait_ms: 10_000 });
  if (!caught_up) {
    const who = held_by === null ? "" : `: process ${held_by.pid} (${held_by.command}) has it open`;
    throw new UsageError(
      `Cannot import as the database cannot be brought up to date first${who}; close it there and try again`,
    );
  }
  const rows = await store.ask(
    "SELECT source, source_id, study_id, trial_id, number, content_hash FROM imported_runs",
    { maxRows: 10_000_000 },
  );
  const known = new Map<string, Known>();
  const next = new Map<string, number>();
  for (const row of rows as unknown as (Known & { source: string; source_id: string })[]) {
    next.set(row.study_id, Math.max(next.get(row.study_id) ?? 0, row.number + 1));
    if (row.source === source) known.set(row.source_id, row);
  }
  return { known, next };
}

function hashOf(run: ForeignRun): string {
  const { study_id: _study, number: _number, ...content } = run;
  return createHash("sha256").update(toJson(content)).digest("hex");
}

function sampleLine(sample: SampleResult): string {
  const wire = (value: number | null) =>
    value === null || Number.isFinite(value) ? value : String(value);
  const { score, log_likelihood } = sample;
  return JSON.stringify({
    ...sample,
    score: wire(score),
    log_likelihood: wire(log_likelihood),
  });
}

/** Writes per-sample rows as JSON Lines beside the journal and records them. */
async function recordSamples(
  store: Store,
  { study_id, trial_id }: Pick<Known, "study_id" | "trial_id">,
  samples: readonly SampleResult[],
  at: string,
): Promise<void> {
  const place = store.samplesPath(study_id, trial_id, FULL);
  const [relative, absolute] = [place.relative, place.absolute].map((path) =>
    path.replace(/\.parquet$/, ".jsonl")
  ) as [string, string]; // one for each
  const text = samples.map((one) => `${sampleLine(one)}\n`).join("");
  await writeFile(absolute, text, { flush: true });
  await store.record({
    type: "samples_written",
    at,
    study_id,
    trial_id,
    fidelity: FULL,
    path: relative,
    rows: samples.length,
    sha256: createHash("sha256").update(text).digest("hex"),
  });
}

/**
 * Takes runs of another tracker into a store that is open for writing. A run that is here already
 * is replaced where it changed and left alone where it did not, so that importing twice doubles
 * nothing. `location` is shown to people: give no secrets.
 */
export async function importRuns(
  store: Store,
  { source, location, now = () => new Date() }: {
    source: ImportSource;
    location: string;
    now?: () => Date;
  },
  runs: Iterable<Foreign> | AsyncIterable<Foreign>,
): Promise<ImportReport> {
  const { known, next } = await knownRuns(store, source);
  const report: ImportReport = { added: 0, updated: 0, unchanged: 0, study_ids: [], left_out: [] };
  for await (const given of runs) {
    if (!isRun(given)) {
      report.left_out.push(given.left_out);
      continue;
    }
    const { left_out = [], ...run } = given;
    report.left_out.push(...left_out);
    const before = known.get(run.source_id);
    const content_hash = hashOf(run);
    const study_id = before?.study_id ?? run.study_id;
    if (!report.study_ids.includes(study_id)) report.study_ids.push(study_id);
    if (before?.content_hash === content_hash) {
      report.unchanged++;
      continue;
    }
    const number = before?.number ?? run.number ?? next.get(study_id) ?? 0;
    next.set(study_id, Math.max(next.get(study_id) ?? 0, number + 1));
    const trial_id = `${study_id}/${trialName(number)}`;
    const { samples = [], ...content } = run;
    const place = { source, location, study_id, trial_id, number };
    const at = now().toISOString();
    if (samples.length > 0) await recordSamples(store, place, samples, at);
    for (const part of recordsOf({ ...content, ...place }, at, content_hash)) {
      await store.record(part);
    }
    known.set(run.source_id, { study_id, trial_id, number, content_hash });
    if (before === undefined) report.added++;
    else report.updated++;
  }
  return report;
}

/** The records of a run: one, or more where its series are long. The last one has the hash. */
function recordsOf(run: ImportedRun, at: string, content_hash: string): RunImported[] {
  const parts = seriesParts(run.series);
  return parts.map((series, part) => ({
    type: "run_imported",
    at,
    part,
    ...run,
    ...(part === 0 ? {} : { params: [], measurements: [], tags: {} }),
    series,
    content_hash: part === parts.length - 1 ? content_hash : null,
  }));
}
