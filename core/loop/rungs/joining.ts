import { compareQuality, qualityMetric, qualityRow } from "../../evidence/quality.ts";
import { type Comparable, comparableStudy } from "../../front/comparable.ts";
import { type Foretold, foretoldJoining } from "../../front/foretold_joining.ts";
import { frontOf } from "../../front/objectives.ts";
import {
  countedSamples,
  type Joining,
  joinProbability,
  type RungEvidence,
} from "../../front/promotion.ts";
import { JOINING_LEVEL, type StopRule, stopRule } from "../../front/stop_rule.ts";
import type { Evaluation } from "../../ports.ts";
import { streamRandom } from "../../random.ts";
import { FULL } from "../../schemas/fidelity.ts";
import type { Trial } from "../../schemas/trial.ts";
import { rungNames } from "../../schemas/rungs.ts";
import { baselineOf, type Study, visibleTrials, withRung } from "../study.ts";

/** A part of a rung's samples that was read before all of them are. */
export interface LookedAt {
  readonly fidelity: string;
  readonly evaluation: Evaluation;
  /** Samples of the looks before it on this rung. */
  readonly before: readonly number[];
}

/** What is known of a trial's way to the front, which of its rungs alone tell, and a look at the next. */
interface Asked {
  readonly last?: boolean;
  readonly look?: LookedAt;
}

/** By the rule of stops: whether a trial climbs, waits for the end of the search or is stopped. */
export function decideJoining(
  study: Study,
  trial: Trial,
  { last = false, look }: Asked = {},
): StopRule {
  const known = joiningOf(study, trial, look);
  if (known === null) return { decision: "stop", gate: null };
  if (known.joining === null) return { decision: "climb", gate: null };
  const own = evaluationsOf(study, trial, undefined)!;
  const counts = rungNames(study.spec).flatMap((rung) => {
    const known = own.get(rung);
    return known === undefined ? [] : [countedSamples(known, study.spec).length];
  });
  const looked = look === undefined
    ? []
    : [...look.before, countedSamples(look.evaluation, study.spec).length];
  return stopRule({
    trial,
    joining: known.joining,
    rival: known.rival,
    counts: [...counts, ...looked],
    measured: visibleTrials(study).filter(({ trial_id, strategy, state }) =>
      strategy !== null && trial_id !== trial.trial_id && ["completed", "stopped"].includes(state)
    ),
    front: known.front,
    drawn: streamRandom(study.input.request.seed, `checked ${trial.trial_id}`)(),
    last,
  });
}

/** Whether what is known of a trial lets it hope for the front as it stands. */
export function isPromising(study: Study, trial: Trial): boolean {
  const known = joiningOf(study, trial, undefined);
  return known !== null &&
    (known.joining === null || known.joining.probability >= JOINING_LEVEL);
}

/** How probable it is that a trial joins the front; null: it was not evaluated. */
function joiningOf(
  study: Study,
  trial: Trial,
  look: LookedAt | undefined,
): { joining: Joining | null; rival: string | null; front: readonly string[] } | null {
  const compared = comparableStudy([...study.trials, trial], study.spec);
  const evaluations = evaluationsOf(study, trial, look);
  if (evaluations === undefined) return null;
  const own = { ...compared.trials.at(-1)!, evaluations };
  const { members } = frontOf(compared);
  const known = members.flatMap((one) => evidenceOf(study, one.trial) ?? []);
  const random = streamRandom(study.input.request.seed, `joins ${trial.trial_id}`);
  const foretold = foretoldOf(study, trial);
  const joining = joinProbability(own, known, compared.spec, random) ??
    (foretold === null ? null : foretoldJoining(own, known, foretold, compared.spec, random));
  const place = joining?.rival ?? null;
  return {
    joining,
    rival: place === null ? null : known[place]!.trial_id,
    front: members.map((one) => one.trial.trial_id),
  };
}

function evaluationsOf(study: Study, { trial_id }: Trial, look: LookedAt | undefined) {
  const known = study.evaluations.get(trial_id);
  return look === undefined ? known : withRung(known, look.fidelity, look.evaluation);
}

function evidenceOf(study: Study, trial: Comparable): (RungEvidence & Comparable) | null {
  const evaluations = study.evaluations.get(trial.trial_id);
  return evaluations === undefined ? null : { ...trial, evaluations };
}

/** Figures by which a rung without quality may foretell it. */
const FORETELLING = ["kl", "answer_likelihood"] as const;

/**
 * What a trial's highest rung foretells of its quality where it measured none: the rung's figure, and
 * how that went with quality in the trials before it. Null: it has no such figure.
 */
function foretoldOf(study: Study, trial: Trial): Foretold | null {
  const { spec } = study;
  const rung = rungNames(spec).findLast((name) => study.evaluations.get(trial.trial_id)?.has(name));
  const original = qualityRow(
    baselineOf(study)?.measurements ?? [],
    qualityMetric(spec),
    FULL,
  );
  if (rung === undefined || original === undefined) return null;
  const metric = FORETELLING.find((one) => figureOn(trial, one, rung) !== undefined);
  if (metric === undefined) return null;
  const { value: figure, n } = figureOn(trial, metric, rung)!;
  const before = study.trials.flatMap((other) => {
    const own = figureOn(other, metric, rung);
    const loss = other.strategy === null ? null : lossOf(study, other);
    return own === undefined || loss === null ? [] : [{ figure: own.value, loss }];
  });
  return { rung, metric, figure, samples: n, before, original: original.value };
}

function figureOn({ measurements }: Trial, metric: string, rung: string) {
  const row = qualityRow(measurements, metric, rung);
  return row !== undefined && Number.isFinite(row.value) ? row : undefined;
}

/** What a trial lost on the highest rung that measured its quality; null: none did. */
function lossOf(study: Study, { trial_id }: Trial): number | null {
  const original = study.evaluations.get(baselineOf(study)?.trial_id ?? "");
  const own = study.evaluations.get(trial_id);
  for (const rung of rungNames(study.spec).toReversed()) {
    const [reference, other] = [original?.get(rung), own?.get(rung)];
    const compared = reference === undefined || other === undefined
      ? null
      : compareQuality(study.spec, rung, reference, other);
    if (compared !== null && Number.isFinite(compared.drop)) return compared.drop;
  }
  return null;
}
