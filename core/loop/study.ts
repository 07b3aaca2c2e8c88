import { comparableStudy } from "../front/comparable.ts";
import { FRONT_STREAM, type FrontEstimate, frontEstimate } from "../front/front_probability.ts";
import { neighboursOf, qualityGroups } from "../front/neighbours.ts";
import { frontHypervolume, frontOf, yardstickFor } from "../front/objectives.ts";
import type { RunNeeds } from "../contract/run_needs.ts";
import type { QualityComparison } from "../evidence/quality.ts";
import type { TaskDrop } from "../evidence/task_limits.ts";
import type { Evaluation } from "../ports.ts";
import { streamRandom } from "../random.ts";
import { FULL } from "../schemas/fidelity.ts";
import type { Episode, JournalRecord, Neighbours } from "../schemas/journal.ts";
import type { Spec } from "../schemas/spec.ts";
import type { GateDecision, Trial, TrialState } from "../schemas/trial.ts";
import type { Failure } from "../schemas/failure.ts";
import type { Artifact } from "../schemas/artifact.ts";
import type { ModelFacts } from "../schemas/facts.ts";
import type { EarlierTrial, FormatLoss, Proposed } from "../schemas/proposal.ts";
import type { Slots } from "./beside/slots.ts";
import type { QueuedStrategy } from "./queue.ts";
import type { StudyInput, StudyPorts } from "./study_input.ts";

/** Why a trial goes no further. */
export interface Ending {
  readonly state: Exclude<TrialState, "running">;
  readonly failure: Failure | null;
}

/** A trial beside the baseline: over all tasks, and on those that have a limit of their own. */
export interface Compared {
  readonly quality: QualityComparison;
  readonly tasks: readonly TaskDrop[];
}

/** A trial being made; frozen by `closeTrial`. */
export interface Draft {
  trial: Trial;
  artifact: Artifact;
  /** The model that the next action meets: the artifact's own facts, by formula where it has none. */
  model: ModelFacts;
  /** Moment of its opening, later by every pause of a study by hand. */
  opened: number;
  /** Milliseconds spent waiting, for the backend or held: the rest is the loop's own. */
  waited: number;
  /** Why it goes no further; null: it may. */
  ended: Ending | null;
  /** What a look ahead of a whole evaluation decided, and its samples; absent: none did. */
  decided?: Compared;
  /** When it was put aside for a late full evaluation; null where it was not. */
  held_since: number | null;
  /** Seconds of the calls that are parts of one evaluation; absent: none is made of parts now. */
  parts?: number[] | undefined;
}

/** When trials under way are ended, some time after the budget has ended, and how many there are. */
interface Beyond {
  rings: number;
  under_way: number;
  timer: { clear(): void } | undefined;
}

/** Union members one by one, so that each keeps its own fields. */
type WithoutTime<R> = R extends JournalRecord ? Omit<R, "at"> : never;

/** A front, how sure it is, its members beside each other, and those that are not told apart. */
type EstimatedFront = FrontEstimate & {
  readonly neighbours: readonly Neighbours[];
  readonly groups: readonly (readonly string[])[];
};

/** A study while it runs: what it was given, what it knows, and the only way to write it down. */
export interface Study {
  readonly input: StudyInput;
  /** Of its kind of run. */
  readonly needs: RunNeeds;
  readonly ports: StudyPorts;
  readonly spec: Spec;
  /** Closed trials. */
  readonly trials: Trial[];
  /** Opened and not closed, by number. */
  readonly open: Set<Draft>;
  /** Where its calls compute. */
  readonly slots: Slots;
  /** Of those: measured below the last rung, waiting for one of the last full evaluations. */
  readonly held: Draft[];
  /** What its actions made, by artifact id. */
  readonly artifacts: Map<string, Artifact>;
  /** By trial, then by rung. */
  readonly evaluations: Map<string, ReadonlyMap<string, Evaluation>>;
  /** Trials that were timed in other runtimes than the study's, by `timingKey`. */
  readonly elsewhere: Set<string>;
  /** The rungs that trials climb, the cheapest first. */
  readonly rungs: readonly string[];
  readonly episodes: Episode[];
  /** Strategies to run before the samplers are asked. */
  readonly queue: QueuedStrategy[];
  /** Keys of strategies that are finished or under way. */
  readonly keys: Set<string>;
  /** Answers of an earlier run that no trial came of: they are taken in place of asking again. */
  readonly answers: Proposed[];
  /** How often samplers were asked in the latest episode that asked any. */
  asked: { number: number; times: number };
  /** How sure the front is, and of which trials that was worked out; null: it was not yet. */
  estimated: { readonly key: string; readonly estimate: EstimatedFront } | null;
  /** Trials of earlier studies, as samplers are shown them. */
  readonly earlier: readonly EarlierTrial[];
  /** What formats cost the original, as samplers are shown it. */
  readonly format_losses: readonly FormatLoss[];
  /** Refusals that no episode has told yet. */
  readonly refused: Episode["refused"];
  /** Observed seconds of what trials go through, by phase: each rung, and speed. */
  readonly seconds: ReadonlyMap<string, number[]>;
  readonly started: number;
  readonly spent_before: number;
  /** Joules of its earlier runs, and what the meter read as this one began; null: there is no meter. */
  readonly joules_before: number;
  readonly metered_from: number | null;
  /** How long trials go on that the end of the budget finds under way. */
  readonly beyond: Beyond;
  /** Whether the request's limits end what is done now: they do not where a user asks by hand. */
  limits_hold: boolean;
  /** Seconds of this run between the calls of a study by hand: nobody's work. */
  paused: number;
  /** Numbers are given once, over all runs of the study. */
  nextNumber: number;
  /** Trials evaluated in full, the baseline left out. */
  fullEvaluations: number;
  /** The first number of this run: failures of an earlier one do not count against it. */
  readonly firstNumber: number;
}

/** What is known of a trial, with its evaluation on one more rung. */
export function withRung(
  known: ReadonlyMap<string, Evaluation> | undefined,
  rung: string,
  evaluation: Evaluation,
): ReadonlyMap<string, Evaluation> {
  return new Map([...known ?? [], [rung, evaluation]]);
}

/** Appends a record to the journal, then tells whoever watches. */
export async function record(study: Study, body: WithoutTime<JournalRecord>): Promise<void> {
  const at = timestamp(study);
  const whole = { ...body, at } as JournalRecord; // the time is what WithoutTime left out
  await study.ports.tracker.record(whole);
  study.input.onEvent?.({ event: "record", record: whole });
}

export function timestamp(study: Study): string {
  return new Date(study.ports.clock.now()).toISOString();
}

/** The measured baseline: the completed trial without a strategy. */
export function baselineOf(study: Study): Trial | undefined {
  return study.trials.find((trial) => trial.strategy === null && trial.state === "completed");
}

/** Whether speed and memory of its trials are measured in its runtime. */
export function isTimed({ needs, spec }: Pick<Study, "needs" | "spec">): boolean {
  return needs.timed && spec.untimed === undefined;
}

/** The baseline on a rung; undefined: it was not evaluated there. */
export function baselineOn(study: Study, rung: string): Evaluation | undefined {
  return study.evaluations.get(baselineOf(study)?.trial_id ?? "")?.get(rung);
}

/** Trials as a sampler sees them: those that wait for a full evaluation as results of the rung they reached. */
export function visibleTrials(study: Study): Trial[] {
  const waiting = study.held.map(({ trial }) => ({ ...trial, state: "completed" as const }));
  const { trials } = comparableStudy([...study.trials, ...waiting], study.spec);
  return [...trials].sort((a, b) => a.number - b.number);
}

/** The number of the episode that is next. */
export function nextEpisode({ episodes }: Study): number {
  return (episodes.at(-1)?.number ?? 0) + 1;
}

export function currentFront(study: Study): { ids: string[]; hypervolume: number | null } {
  const compared = comparableStudy(study.trials, study.spec);
  return {
    ids: frontOf(compared).members.map(({ trial }) => trial.trial_id),
    hypervolume: frontHypervolume(compared, study.input.facts),
  };
}

/**
 * How sure the front is, by the samples of the full evaluations. The seed decides it: of the same
 * trials it is the same in an episode, at the end and in a report.
 */
export function estimateFront(study: Study): EstimatedFront {
  const compared = comparableStudy(study.trials, study.spec);
  const { members, dominated } = frontOf(compared);
  const contenders = [...members, ...dominated].flatMap(({ trial }) => {
    const full = study.evaluations.get(trial.trial_id)?.get(FULL);
    return full === undefined ? [] : [{ trial, samples: full.samples }];
  });
  const key = JSON.stringify(
    contenders.map(({ trial: { trial_id, latency, in_turn } }) => [
      trial_id,
      latency,
      [...in_turn ?? []],
    ]),
  );
  if (study.estimated?.key === key) return study.estimated.estimate;
  const random = streamRandom(study.input.request.seed, FRONT_STREAM);
  const yardstick = yardstickFor(compared, study.input.facts);
  const on_front = contenders.filter(({ trial }) =>
    members.some((member) => member.trial === trial)
  );
  const estimate = {
    ...frontEstimate(contenders, compared.spec, random, { yardstick }),
    neighbours: neighboursOf(on_front, compared.spec),
    groups: qualityGroups(on_front, compared.spec),
  };
  study.estimated = { key, estimate };
  return estimate;
}

/** What a gate's decision is about: the last action applied and what it made. */
export function latestAction({ trial, artifact: { artifact_id, parent_id } }: Draft): GateAction {
  const action_index = trial.artifact_ids.length - 1;
  return action_index < 0 ? {} : { action_index, artifact_id, parent_id };
}

type GateAction = Pick<GateDecision, "action_index" | "artifact_id" | "parent_id">;

/** Keeps a gate's decision with the action, the attempt and the artifact that it is about. */
export function addGate(draft: Draft, gate: GateDecision, about = latestAction(draft)): void {
  const { trial } = draft;
  draft.trial = { ...trial, gates: [...trial.gates, { attempt: 1, ...gate, ...about }] };
}
