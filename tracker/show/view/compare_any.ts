import { UsageError } from "../../../core/mod.ts";
import type { Store } from "../../store/store.ts";
import { originalRan } from "./deployment.ts";
import { compareTrials } from "./compare_trials.ts";
import type { StudyView } from "./study_view.ts";
import { figuresOf } from "./trial_figures.ts";

/** Two trials on one task: the second against the first, sample by sample. */
export interface TrialsComparedRow {
  readonly task: string;
  readonly metric: string;
  readonly first: number;
  readonly second: number;
  /**
   * The second less the first, of perplexity relative (second / first − 1), with its paired 95 %
   * interval; null: too few samples for one.
   */
  readonly difference: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Adjusted by Holm over the tasks. */
  readonly p_adjusted: number | null;
  readonly n: number;
}

/** What a study came to: its recommended trial, else the best of its front, beside another's. */
export interface StudiesComparedRow {
  readonly study_id: string;
  readonly model_name: string;
  readonly dataset: string;
  readonly trials: number;
  readonly on_front: number;
  readonly trial: string | null;
  readonly recommended: boolean;
  readonly recipe: string | null;
  readonly [metric: string]: string | number | boolean | null;
}

/** Rows, and why a task has none. */
export interface Compared {
  readonly rows: readonly (TrialsComparedRow | StudiesComparedRow)[];
  /** A sentence each. */
  readonly refused: readonly string[];
}

/** What can be named in a comparison. */
export type Comparand = string | { readonly study_id: string; readonly trial_id?: string };

/** The id of a trial, else that of a study. */
export function idOf(one: Comparand): string {
  const id = typeof one === "string" ? one : one?.trial_id ?? one?.study_id;
  if (typeof id === "string" && id !== "") return id;
  throw new UsageError(
    'Cannot take that for a study or a trial: give its id, such as "STUDY/t02", or what study.trial(…) gives',
  );
}

async function trialsCompared(store: Store, first: string, second: string): Promise<Compared> {
  const { comparisons, refused } = await compareTrials(store, first, second);
  if (comparisons.length === 0) {
    throw new UsageError(
      refused.join("\n") || `Cannot compare ${first} with ${second}: no task is common`,
    );
  }
  return {
    refused,
    rows: comparisons.map((one) => ({
      task: one.task,
      metric: one.metric,
      first: one.reference,
      second: one.score,
      difference: one.difference,
      low: one.interval?.[0] ?? null,
      high: one.interval?.[1] ?? null,
      p_adjusted: one.p_adjusted,
      n: one.n,
    })),
  };
}

/** What a study has to show: what it recommends, else its best, else nothing. */
function standOf(view: StudyView): StudiesComparedRow {
  const id = view.recommended ?? view.front[0];
  const row = view.rows.find(({ trial_id }) => trial_id === id);
  const figures = row === undefined ? null : figuresOf(view, row);
  const kept = [
    "accuracy",
    "accuracy_standard_error",
    "accuracy_difference",
    "accuracy_difference_low",
    "accuracy_difference_high",
    "perplexity",
    "perplexity_difference",
    "perplexity_difference_low",
    "perplexity_difference_high",
    "latency_ms",
    "latency_ratio",
    "size_bytes",
    "memory_bytes",
    "reward",
  ];
  return {
    study_id: view.study_id,
    model_name: view.facts.model.model_name,
    dataset: view.facts.dataset.dataset,
    trials: view.rows.filter(({ baseline }) => !baseline).length,
    on_front: view.front.length,
    trial: figures?.trial ?? null,
    recommended: figures?.recommended ?? false,
    recipe: figures?.recipe ?? null,
    ...Object.fromEntries(kept.map((name) => [name, figures?.[name] ?? null])),
    hypervolume: view.hypervolume,
    seconds: view.rows.reduce((sum, { seconds }) => sum + seconds, 0),
  };
}

/** What makes two studies' figures hard to set against each other, a sentence each. */
function differing(first: StudyView, second: StudyView): string[] {
  const differ = (what: string, of: (view: StudyView) => string) =>
    of(first) === of(second)
      ? []
      : [`The ${what} differs: ${of(first)} in the first, ${of(second)} in the second.`];
  return [
    ...differ("model", ({ facts }) => facts.model.model_name),
    ...differ("dataset", ({ facts }) => facts.dataset.dataset),
    ...differ("machine", ({ facts }) => facts.device.device_name),
    ...differ("runtime", (view) => originalRan(view) ?? view.spec.runtime),
  ];
}

/** Compares two trials of any studies sample by sample, or two studies by what they came to. */
export async function compareAny(
  store: Store,
  [first, second]: readonly [Comparand, Comparand],
  viewOf: (study_id: string) => Promise<StudyView>,
): Promise<Compared> {
  const ids = [idOf(first), idOf(second)] as const;
  const studies = await store.studyIds();
  const named = ids.map((id) => studies.includes(id));
  if (named[0] !== named[1]) {
    throw new UsageError(
      `Cannot compare ${ids[0]} with ${ids[1]} as one is a study and the other is none: ` +
        "name two studies or two trials",
    );
  }
  if (!named[0]) return await trialsCompared(store, ids[0], ids[1]);
  const [one, other] = [await viewOf(ids[0]), await viewOf(ids[1])];
  return { rows: [standOf(one), standOf(other)], refused: differing(one, other) };
}
