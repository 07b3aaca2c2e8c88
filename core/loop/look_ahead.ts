import {
  compareQuality,
  countedTasks,
  ofTask,
  qualityMetric,
  withAggregates,
} from "../evidence/quality.ts";
import { rungThreshold } from "../evidence/gates.ts";
import { looksOf, type RowsByTask } from "../evidence/sequence/looks.ts";
import { sampleOrder, samplesUntilDecided } from "../evidence/sequence/paired_sequence.ts";
import { judgeSequence, LEVEL, sequenceInterval } from "../evidence/sequence/verdict.ts";
import { claimsOf, judgeTasks, taskDrops } from "../evidence/task_limits.ts";
import type { Evaluation } from "../ports.ts";
import { isDecisive } from "../schemas/fidelity.ts";
import { isLikelihoodRung } from "../spec/rungs.ts";
import { callBackend, endingOf, hintOf, notANumber } from "./draft.ts";
import {
  addGate,
  baselineOf,
  type Compared,
  type Draft,
  type Ending,
  type Study,
} from "./study.ts";

/** Looks that were taken on the way to a rung, none of which ended the trial; or its end. */
type LookedAhead = { readonly before: readonly RowsByTask[] } | { readonly ending: Ending };

/** All of a rung's samples, or the trial's end: a failure, or what a look before it decided. */
export async function readRung(
  study: Study,
  draft: Draft,
  fidelity: string,
  reference: Evaluation | undefined,
): Promise<{ value: Evaluation } | { ending: Ending }> {
  const seconds = study.seconds.get(fidelity);
  const known = seconds?.length ?? 0;
  const looked = await lookAhead(study, draft, fidelity, reference);
  if ("ending" in looked) {
    asOne(seconds, known);
    return looked;
  }
  const { trial: { trial_id }, artifact } = draft;
  const look = looked.before.length === 0 ? undefined : { rows: null, before: looked.before };
  const evaluated = await callBackend(
    study,
    draft,
    fidelity,
    artifact.artifact_id,
    () => study.ports.backend.evaluate(trial_id, artifact, fidelity, undefined, look),
  );
  asOne(seconds, known);
  return evaluated;
}

/** The seconds of looks and of what followed them, from a place on, are one evaluation's. */
function asOne(seconds: number[] | undefined, from: number): void {
  const own = seconds?.splice(from) ?? [];
  if (own.length > 0) seconds!.push(own.reduce((sum, one) => sum + one, 0));
}

/** What quality may lose on a rung: the last one is judged by the user's constraint. */
function limitOn(study: Study, fidelity: string): number {
  return isDecisive(fidelity)
    ? study.spec.constraints.max_accuracy_drop
    : rungThreshold(study.spec);
}

/**
 * Looks at a growing part of a rung's samples before all of them are read, where the study asks for
 * it, and ends a trial as soon as they show that it loses too much. One that keeps within the limit
 * reads all of them: points of a front are compared on the same samples. The figures of a part stay
 * apart: those of a trial are of whole rungs.
 */
async function lookAhead(
  study: Study,
  draft: Draft,
  fidelity: string,
  reference: Evaluation | undefined,
): Promise<LookedAhead> {
  const { spec, input: { request } } = study;
  const { trial: { trial_id, strategy, fidelity: reached }, artifact } = draft;
  if (request.until_decided !== true || strategy === null) return { before: [] };
  if (reference === undefined || qualityMetric(spec) !== "accuracy") return { before: [] };
  if (isLikelihoodRung(spec, fidelity)) return { before: [] }; // no quality is measured there
  const tasks = countedTasks(baselineOf(study)?.measurements ?? [], spec, "accuracy")
    .map(({ plan }) => ({ plan, samples: ofTask(reference, plan.task) }));
  const order = sampleOrder(tasks);
  const lower = reached === null ? undefined : study.evaluations.get(trial_id)?.get(reached);
  const looks = looksOf(order, lower?.samples ?? []);
  const limit = limitOn(study, fidelity);
  const told = expectation(study, reached, lower, limit);
  for (const [i, rows] of looks.entries()) {
    const look = { rows, before: looks.slice(0, i) };
    const looked = await callBackend(
      study,
      draft,
      fidelity,
      `${artifact.artifact_id}, until decided: look ${i + 1}${told}`,
      () => study.ports.backend.evaluate(trial_id, artifact, fidelity, undefined, look),
    );
    if ("ending" in looked) return looked;
    // Tasks that were refused are told of by the whole evaluation.
    if ((looked.value.refused ?? []).length > 0) return { before: looks.slice(0, i + 1) };
    const evaluation = withAggregates(looked.value, spec);
    const broken = notANumber(
      evaluation.measurements,
      fidelity,
      hintOf(study, draft.trial, "quality"),
    );
    if (broken !== null) return { ending: endingOf(broken) };
    const compared = compareQuality(spec, fidelity, reference, evaluation);
    const all = order.placed.length;
    if (compared === null) continue;
    const tasks = isDecisive(fidelity) ? taskDrops(spec, reference, evaluation) : [];
    const found = { quality: compared, tasks };
    if (
      endsAt(draft, found, limit, all) || endsByTask(draft, found, claimsOf(spec.constraints), all)
    ) {
      return { ending: { state: "stopped", failure: null } };
    }
  }
  return { before: looks };
}

/** How many samples would decide, as far as a lower rung tells; "": it does not. */
function expectation(
  study: Study,
  rung: string | null,
  lower: Evaluation | undefined,
  limit: number,
): string {
  if (rung === null || lower === undefined) return "";
  const reference = study.evaluations.get(baselineOf(study)?.trial_id ?? "")?.get(rung);
  if (reference === undefined) return "";
  const compared = compareQuality(study.spec, rung, reference, lower);
  if (compared === null || compared.sequence === null) return "";
  const samples = samplesUntilDecided(compared.sequence, compared.drop, limit);
  return samples === null ? "" : `, about ${samples} samples would tell`;
}

/** Whether samples show that a trial loses more than the limit; its gate then says what was saved. */
function endsAt(draft: Draft, found: Compared, limit: number, all: number): boolean {
  const { sequence, drop } = found.quality;
  if (sequence === null) return false;
  const { verdict, n } = judgeSequence(sequence.drawn, limit);
  if (verdict !== "violated") return false;
  const interval = sequenceInterval(sequence.drawn)!; // of samples that have just decided
  endDecided(draft, found, all, { what: "accuracy drop", drop, interval, limit, n });
  return true;
}

/** Whether they show that it loses more on a task than that one's limit. */
function endsByTask(draft: Draft, found: Compared, claims: number, all: number): boolean {
  const judged = judgeTasks(found.tasks, claims);
  const i = judged.findIndex(({ verdict }) => verdict === "violated");
  if (i < 0) return false;
  const { task, drop, limit, sequence } = found.tasks[i]!;
  const interval = sequenceInterval(sequence.drawn, LEVEL / claims)!;
  endDecided(draft, found, all, {
    what: `drop of ${task}`,
    drop,
    interval,
    limit,
    n: judged[i]!.n,
  });
  return true;
}

interface Decided {
  readonly what: string;
  readonly drop: number;
  readonly interval: readonly [number, number];
  readonly limit: number;
  /** Samples at the look that decided. */
  readonly n: number;
}

function endDecided(draft: Draft, found: Compared, all: number, decided: Decided): void {
  const { fidelity, metric, n } = found.quality;
  const { what, drop, interval: [low, high], limit } = decided;
  draft.decided = found;
  addGate(draft, {
    gate: `${fidelity}_${metric}`,
    decision: "abort",
    reason: `${what} on ${n} ${fidelity} samples is ${drop.toFixed(3)} (95 % interval ` +
      `${low.toFixed(3)} to ${high.toFixed(3)}), above ${limit}: decided after ${decided.n}, ` +
      `${all - n} of ${all} samples were not read`,
    value: drop,
    threshold: limit,
  });
}
