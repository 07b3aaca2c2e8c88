import {
  compareQuality,
  countedTasks,
  ofTask,
  qualityMetric,
  withAggregates,
} from "../../evidence/quality.ts";
import { rungThreshold } from "../../evidence/gates.ts";
import { expectedSamples, FLIPS_UNSEEN } from "../../evidence/sequence/expected_samples.ts";
import { looksOf } from "../../evidence/sequence/looks.ts";
import {
  sampleKey,
  type SampleOrder,
  sampleOrder,
  samplesUntilDecided,
} from "../../evidence/sequence/paired_sequence.ts";
import { claimsOf, taskDrops } from "../../evidence/task_limits.ts";
import { countedSamples } from "../../front/promotion.ts";
import type { Evaluation, Look, RowsByTask } from "../../ports.ts";
import { FULL, isDecisive } from "../../schemas/fidelity.ts";
import { heightOf, isLikelihoodRung, rungNames } from "../../schemas/rungs.ts";
import { keepPace } from "../cost/budget.ts";
import { callBackend, endingOf, hintOf, notANumber } from "../draft.ts";
import { evaluateBeside } from "../beside/same_prompts.ts";
import { baselineOf, baselineOn, type Draft, type Ending, type Study } from "../study.ts";
import { endsAt, endsByTask, endsUnlikely, type Looked } from "./ended_early.ts";

/** Looks that were taken on the way to a rung, none of which ended the trial; or its end. */
type LookedAhead = { readonly before: readonly RowsByTask[] } | { readonly ending: Ending };

/** All of a rung's samples, or the trial's end: a failure, or what a look before it decided. */
export async function readRung(
  study: Study,
  draft: Draft,
  fidelity: string,
  reference: Evaluation | undefined,
): Promise<{ value: Evaluation } | { ending: Ending }> {
  // The seconds of looks and of what follows them are one evaluation's.
  const parts: number[] = draft.parts = [];
  const evaluated = await readParts(study, draft, fidelity, reference);
  draft.parts = undefined;
  if (parts.length > 0) {
    const took = parts.reduce((sum, one) => sum + one, 0);
    keepPace(study, fidelity, draft.trial.actions, took);
  }
  return evaluated;
}

async function readParts(
  study: Study,
  draft: Draft,
  fidelity: string,
  reference: Evaluation | undefined,
): Promise<{ value: Evaluation } | { ending: Ending }> {
  const looked = await lookAhead(study, draft, fidelity, reference);
  if ("ending" in looked) return looked;
  const look = looked.before.length === 0 ? undefined : { rows: null, before: looked.before };
  return await callBackend(
    study,
    draft,
    fidelity,
    draft.artifact.artifact_id,
    () => evaluateOn(study, draft, fidelity, look),
  );
}

function evaluateOn(study: Study, draft: Draft, fidelity: string, look?: Look) {
  const { trial: { trial_id }, artifact } = draft;
  return evaluateBeside(
    study,
    draft,
    (beside) => study.ports.backend.evaluate(trial_id, artifact, fidelity, undefined, look, beside),
  );
}

/** What quality may lose on a rung: the last one is judged by the user's constraint. */
function limitOn(study: Study, fidelity: string): number {
  return isDecisive(fidelity)
    ? study.spec.constraints.max_accuracy_drop
    : rungThreshold(study.spec);
}

/**
 * Looks at a growing part of a rung's samples before all of them are read, where the study asks for
 * it, and ends a trial as soon as they show that it loses too much, or that it is unlikely to join the
 * front. One that keeps within the limit and may join reads all of them: points of a front are compared
 * on the same samples. The figures of a part stay apart: those of a trial are of whole rungs.
 */
async function lookAhead(
  study: Study,
  draft: Draft,
  fidelity: string,
  reference: Evaluation | undefined,
): Promise<LookedAhead> {
  const { spec } = study;
  const { trial: { trial_id, fidelity: reached }, artifact } = draft;
  if (reference === undefined || !isLookedAt(study, draft, fidelity)) return { before: [] };
  const tasks = countedTasks(baselineOf(study)?.measurements ?? [], spec, "accuracy")
    .map(({ plan }) => ({ plan, samples: ofTask(reference, plan.task) }));
  const order = sampleOrder(tasks);
  const lower = reached === null ? undefined : study.evaluations.get(trial_id)?.get(reached);
  const looks = looksOf(order, lower?.samples ?? [], startInSamples(study, fidelity));
  const limit = limitOn(study, fidelity);
  const expected = expectation(study, { rung: reached, lower, limit, order });
  const told = expected === null ? "" : `, about ${expected} samples would tell`;
  const counts: number[] = [];
  for (const [i, rows] of looks.entries()) {
    const look = { rows, before: looks.slice(0, i) };
    const looked = await callBackend(
      study,
      draft,
      fidelity,
      `${artifact.artifact_id}, until decided: look ${i + 1}${told}`,
      () => evaluateOn(study, draft, fidelity, look),
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
    const compared = [reference, evaluation, baselineOn(study, FULL)] as const;
    const quality = compareQuality(spec, fidelity, ...compared);
    if (quality === null) continue;
    const drops = isDecisive(fidelity) ? taskDrops(spec, ...compared) : [];
    const found: Looked = {
      compared: { quality, tasks: drops },
      at: { fidelity, evaluation, before: [...counts] },
      all: order.placed.length,
      expected,
    };
    counts.push(countedSamples(evaluation, spec).length);
    const ending = endsAt(draft, found, limit) ??
      endsByTask(draft, found, claimsOf(spec.constraints)) ??
      endsUnlikely(study, draft, found);
    if (ending !== null) return { ending };
  }
  return { before: looks };
}

/** Whether parts of a rung are looked at: only where samples from 0 to 1 bound what is lost. */
function isLookedAt(
  { spec, input: { request } }: Study,
  { trial: { strategy } }: Draft,
  fidelity: string,
): boolean {
  if (request.until_decided !== true || strategy === null) return false;
  return qualityMetric(spec) === "accuracy" && !isLikelihoodRung(spec, fidelity);
}

/**
 * Samples of a rung that are answered in the time in which an evaluation starts, by the latest trial that
 * was evaluated there; 0: nobody knows.
 */
function startInSamples({ trials, evaluations, spec }: Study, fidelity: string): number {
  for (const { trial_id, spans } of trials.toReversed()) {
    const known = evaluations.get(trial_id);
    const samples = known?.get(fidelity)?.samples ?? [];
    const below = rungNames(spec).slice(0, heightOf(spec, fidelity))
      .flatMap((rung) => known?.get(rung)?.samples ?? []);
    const taken_over = new Set(below.map(sampleKey));
    const fresh = samples.filter((one) => !taken_over.has(sampleKey(one)));
    const own = fresh.reduce((sum, { seconds }) => sum + (seconds ?? NaN), 0);
    const all = spans.filter(({ phase }) => phase === fidelity);
    const whole = all.reduce((sum, { seconds }) => sum + seconds, 0);
    // A process tells of each of its parts once: looks were processes of their own.
    const parts = [...Map.groupBy(all, ({ name }) => name).values()];
    const processes = Math.max(0, ...parts.map(({ length }) => length));
    if (own > 0 && processes > 0) {
      return Math.max(0, whole - own) / processes / own * fresh.length;
    }
  }
  return 0;
}

/** What is known before a rung's samples are read. */
interface Before {
  readonly rung: string | null;
  readonly lower: Evaluation | undefined;
  readonly limit: number;
  readonly order: SampleOrder;
}

/**
 * How many samples would decide: as far as a lower rung tells, else as many as would show a loss of
 * twice the limit, where a tenth of the answers change. Null: no number does.
 */
function expectation(study: Study, { rung, lower, limit, order }: Before): number | null {
  const reference = rung === null ? undefined : baselineOn(study, rung);
  const compared = rung === null || lower === undefined || reference === undefined
    ? null
    : compareQuality(study.spec, rung, reference, lower, baselineOn(study, FULL));
  if (compared?.sequence != null) {
    return samplesUntilDecided(compared.sequence, compared.drop, limit);
  }
  const samples = expectedSamples(limit, FLIPS_UNSEEN, order.existing ?? Infinity);
  return Number.isFinite(samples) ? samples : null;
}
