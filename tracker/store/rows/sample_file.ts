import { basename, resolve } from "node:path";
import { z } from "zod";
import { SampleResult, ScoreRow, UsageError, type VerdictRow } from "../../../core/mod.ts";
import { adds, type Cell, type Change, type Row } from "./change.ts";
import { ChangedFile, isInStore, type KeptFile, keptInStore, readKept } from "./kept_file.ts";
import { identityOf, setAside } from "../../ground/storage/set_aside.ts";

interface SamplesWritten extends KeptFile {
  study_id: string;
  trial_id: string;
  fidelity: string;
}

const Said = z.string().nullable().optional();
const Told = z.boolean().nullable().optional();

/** A sample as it was kept before verdicts had a table of their own: TruthfulQA's judge in columns. */
const KeptSample = SampleResult.extend({
  judge: Said,
  judge_prompt_hash: Said,
  truthful: Told,
  truthful_reply: Said,
  informative: Told,
  informative_reply: Said,
});
type KeptSample = z.infer<typeof KeptSample>;

/** A sample without the columns of a judge, and its verdicts where one judged. */
function apart(kept: KeptSample): { sample: SampleResult; verdicts: VerdictRow[] } {
  const { judge, judge_prompt_hash, truthful, truthful_reply, informative, ...rest } = kept;
  const { informative_reply, ...sample } = rest;
  if (judge == null) return { sample, verdicts: [] };
  const verdict = (question: string, told: boolean | null | undefined, reply: unknown) => ({
    task: sample.task,
    sample_id: sample.sample_id,
    sample_hash: sample.sample_hash,
    scorer: "truthfulqa_judge",
    scorer_version: "1",
    question,
    judge,
    prompt_hash: judge_prompt_hash ?? null,
    rubric_version: null,
    verdict: told == null ? null : told ? "yes" : "no",
    score: told == null ? null : Number(told),
    reply: reply == null ? null : String(reply),
    prompt_tokens: null,
    reply_tokens: null,
    cost: null,
    obtained: null,
    cut_characters: null,
  });
  const verdicts = [
    verdict("truth", truthful, truthful_reply),
    verdict("informativeness", informative, informative_reply),
  ];
  return { sample, verdicts };
}

/** A worker's per-sample results; throws where the file is not the one that the worker hashed. */
export async function readSamples(path: string, sha256: string): Promise<SampleResult[]> {
  const rows = await readKept(path, sha256, KeptSample, "sample");
  return rows.map((row) => apart(row).sample);
}

/**
 * The samples of a file of the store, or why there are none: it is gone, or was changed, and is then kept
 * aside. What the machine alone refuses is thrown. `root`: of the store.
 */
export async function readOrSetAside(
  root: string,
  { path, sha256 }: KeptFile,
): Promise<{ samples: SampleResult[] } | { lost: string }> {
  const file = resolve(root, path);
  try {
    if (!await isInStore(root, file)) return { lost: `${path} lies outside the store` };
    return { samples: await readSamples(file, sha256) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { lost: `${path} is gone` };
    if (!(error instanceof ChangedFile)) throw error;
    const kept = setAside(file, identityOf(file));
    return { lost: `${path} was changed and is kept as ${basename(kept ?? path)}` };
  }
}

/** Scores that count in the place of those that a samples file has. */
export interface CountedScores {
  readonly task: string;
  /** Null: samples keep their score. */
  readonly own_metric: string | null;
  readonly scores: KeptFile;
}

/** Samples by the scores that were made again of one task. `root`: of the store. */
export async function withScores(
  root: string,
  samples: readonly SampleResult[],
  { task, own_metric, scores }: CountedScores,
): Promise<SampleResult[]> {
  if (own_metric === null) return [...samples];
  const rows = await readKept(resolve(root, scores.path), scores.sha256, ScoreRow, "score");
  const found = new Map(
    rows.filter(({ metric }) => metric === own_metric).map((row) => [row.sample_hash, row]),
  );
  return samples.map((sample) => {
    const row = sample.task === task ? found.get(sample.sample_hash) : undefined;
    if (row === undefined || row.score === null) return sample;
    return {
      ...sample,
      score: row.score,
      parsed_answer: row.parsed_answer ?? sample.parsed_answer,
    };
  });
}

/** The samples of an evaluation by the scores that count. `root`: of the store. */
export async function readNewestSamples(
  root: string,
  written: KeptFile,
  again: readonly CountedScores[],
): Promise<SampleResult[]> {
  let samples: SampleResult[];
  try {
    samples = await readSamples(resolve(root, written.path), written.sha256);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(
      `Cannot read the answers in ${written.path} as it is gone: pare resume asks for them again`,
    );
  }
  for (const one of again) samples = await withScores(root, samples, one);
  return samples;
}

/** Columns that a file of an earlier version lacks are NULL. */
export function withoutUndefined(row: Record<string, Cell | undefined>): Row {
  return Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cell ?? null]));
}

/** The rows of a samples file, or why there are none. */
export async function sampleChanges(
  root: string,
  record: SamplesWritten,
): Promise<{ changes: Change[] } | { problem: string }> {
  const { study_id, trial_id, fidelity } = record;
  const own = { study_id, trial_id, fidelity };
  const read = await keptInStore(
    root,
    record,
    "samples file",
    (file, sha256) => readKept(file, sha256, KeptSample, "sample"),
  );
  if ("problem" in read) return read;
  const rows = read.value.map(apart);
  return {
    changes: [
      ...adds("samples", rows.map(({ sample }) => withoutUndefined({ ...own, ...sample }))),
      ...adds(
        "verdicts",
        rows.flatMap(({ verdicts }) => verdicts.map((one) => ({ ...own, position: null, ...one }))),
      ),
    ],
  };
}
