import {
  type Artifact,
  type ComparableStudy,
  comparableStudy,
  compareTasks,
  type Facts,
  FRONT_STREAM,
  type FrontEstimate,
  frontEstimate,
  frontHypervolume,
  frontOf,
  isDecisive,
  type JournalRecord,
  kindOf,
  type Neighbours,
  neighboursOf,
  objectivesSentence,
  type Protocolled,
  protocolMismatch,
  qualityGroups,
  type Recommendation,
  type ReplayedStudy,
  replayStudy,
  rungNames,
  type SampleResult,
  type Span,
  type Spec,
  streamRandom,
  type Trial,
  UsageError,
  withNewestScores,
  yardstickFor,
} from "../../../core/mod.ts";
import { judgedFigures } from "../judging/judged_figures.ts";
import type { Alert, StudyView } from "./study_view.ts";
import { qualityDifferences } from "./quality_differences.ts";
import { type QualityDifference, trialRows } from "./trial_rows.ts";

/** Reads the samples of a trial's full evaluation by the newest scores; null where they are gone. */
export type SampleReader = (trialId: string) => Promise<SampleResult[] | null>;

function artifactsOf(records: readonly JournalRecord[]): Map<string, Artifact> {
  const written = records.filter((record) => record.type === "artifact_written");
  return new Map(written.map(({ artifact }) => [artifact.artifact_id, artifact]));
}

/** Notes of a study and its trials, each once, also where a trial was run again. */
function notesOf(records: readonly JournalRecord[]): StudyView["notes"] {
  const notes = records.filter((record) => record.type === "note");
  const last = new Map(notes.map(({ note_id, trial_id, text }) => [note_id, { trial_id, text }]));
  return [...last.values()];
}

/** Which phase of the work a span belongs to, by its name. */
function phasesOf(trials: readonly Trial[]): { name: string; seconds: number }[] {
  const totals = new Map<string, number>();
  const add = (span: Span) => totals.set(span.name, (totals.get(span.name) ?? 0) + span.seconds);
  trials.forEach((trial) => trial.spans.forEach(add));
  return [...totals].map(([name, seconds]) => ({ name, seconds }))
    .sort((a, b) => b.seconds - a.seconds);
}

/** Who is on the front how surely, and every trial against the baseline: both from the samples. */
async function evidenceOf(
  study: ReplayedStudy,
  compared: ComparableStudy,
  readSamples: SampleReader,
): Promise<
  Pick<StudyView, "comparisons" | "refused_comparisons"> & {
    estimate: FrontEstimate;
    neighbours: Neighbours[];
    groups: string[][];
    differences: ReadonlyMap<string, QualityDifference>;
  }
> {
  const { spec } = compared;
  const { members, dominated } = frontOf(compared);
  const found = await Promise.all([...members, ...dominated].map(async ({ trial }) => {
    const samples = await readSamples(trial.trial_id);
    return samples === null ? [] : [{ trial, samples, ...protocolOf(study, trial.trial_id) }];
  }));
  const { contenders, refused_comparisons } = comparable(found.flat());
  const { seed } = study.opened.request;
  const estimate = frontEstimate(contenders, spec, streamRandom(seed, FRONT_STREAM), {
    yardstick: yardstickFor(compared, study.opened.facts),
  });
  const on_front = contenders.filter(({ trial }) =>
    members.some((member) => member.trial.trial_id === trial.trial_id)
  );
  const told = {
    estimate,
    neighbours: neighboursOf(on_front, spec),
    groups: qualityGroups(on_front, spec),
    differences: qualityDifferences(compared.trials, contenders, spec),
  };
  const baseline = contenders.find(({ trial }) => trial.strategy === null);
  if (baseline === undefined) {
    return { ...told, comparisons: new Map(), refused_comparisons };
  }
  const reference = { measurements: baseline.trial.measurements, samples: baseline.samples };
  const comparisons = contenders.filter((one) => one !== baseline).map(({ trial, samples }) => {
    const random = streamRandom(seed, `comparison ${trial.trial_id}`);
    return [trial.trial_id, compareTasks(spec, reference, samples, random)] as const;
  });
  return { ...told, comparisons: new Map(comparisons), refused_comparisons };
}

/** Under what a trial's full evaluation was taken; empty in stores that kept no protocol. */
function protocolOf(study: ReplayedStudy, trial_id: string) {
  const { protocol = {}, protocol_parts } =
    study.samples.findLast((record) =>
      record.trial_id === trial_id && isDecisive(record.fidelity)
    ) ?? {};
  return { protocol, protocol_parts };
}

/** What a trial's figures depend on: of each task as its highest rung tells it. */
function partsOf(study: ReplayedStudy, trial_id: string): StudyView["protocol_parts"] {
  const own = study.samples.filter((record) => record.trial_id === trial_id);
  const parts = rungNames(study.opened.spec).map((rung) =>
    own.findLast(({ fidelity }) => fidelity === rung)?.protocol_parts
  );
  return Object.assign({}, ...parts);
}

/** Those that were evaluated as the baseline was; of the others, why they may not be compared. */
function comparable<C extends Protocolled & { trial: Trial }>(all: readonly C[]) {
  const refused_comparisons = new Map<string, string>();
  const baseline = all.find(({ trial }) => trial.strategy === null);
  const contenders = all.filter((one) => {
    const mismatch = baseline === undefined ? null : protocolMismatch(baseline, one);
    if (mismatch !== null) refused_comparisons.set(one.trial.trial_id, mismatch);
    return mismatch === null;
  });
  return { contenders, refused_comparisons };
}

function alertsOf(records: readonly JournalRecord[]): Alert[] {
  return records.filter((record) => record.type === "alert");
}

function advice(
  study: ReplayedStudy,
  facts: Facts,
  spec: Spec,
  closed: Extract<JournalRecord, { type: "study_closed" }> | undefined,
): Recommendation | null {
  const { opened: { request }, trials, stage_decisions } = study;
  const baseline = trials.find((t) => t.strategy === null && t.state === "completed");
  if (baseline === undefined) return null;
  const stop = closed?.stop ?? "cancelled";
  const { message } = closed ?? {};
  const soFar = { spec, facts, baseline, trials, stage_decisions, stop, message, request };
  return kindOf(request).choose(soFar);
}

/** A study as its journal tells it: rows, front, recommendation and time. */
export async function buildView(
  study_id: string,
  records: readonly JournalRecord[],
  readSamples: SampleReader,
): Promise<StudyView> {
  const decided = replayStudy(records, study_id);
  if (decided === null) throw new UsageError(`Cannot find study "${study_id}" in this store`);
  const study = withNewestScores(decided);
  const { request, facts, spec, provenance } = study.opened;
  const compared = comparableStudy(study.trials, spec);
  const { trials } = compared;
  const front = frontOf(compared);
  const baseline = trials.find((t) => t.strategy === null && t.state === "completed");
  const closed = records.findLast((record) => record.type === "study_closed");
  const recommendation = advice(decided, facts, spec, closed); // not made again by later scores
  const ids = front.members.map(({ trial }) => trial.trial_id);
  const { estimate, differences, ...evidence } = await evidenceOf(study, compared, readSamples);
  const artifacts = artifactsOf(records);
  return {
    study_id,
    request,
    facts,
    spec,
    provenance,
    trials,
    rows: trialRows(trials, {
      front: ids,
      probabilities: Object.fromEntries(estimate.probability),
      artifacts,
      differences,
    }),
    artifacts,
    ...evidence,
    protocol_parts: baseline === undefined ? {} : partsOf(study, baseline.trial_id),
    scored_again: study.scored_again,
    judged: judgedFigures(records),
    caches_timed: records.filter((record) => record.type === "caches_timed"),
    elsewhere: study.elsewhere,
    stage_decisions: study.stage_decisions,
    members: study.members,
    members_compared: records.findLast((record) => record.type === "members_compared") ?? null,
    alerts: alertsOf(records),
    front: ids,
    objectives: compared.spec.objectives.map(({ metric }) => metric),
    front_note: kindOf(request).needs.front ? objectivesSentence(compared) : null,
    hypervolume: frontHypervolume(compared, facts),
    hypervolume_interval: estimate.hypervolume_interval,
    episodes: study.episodes,
    recommended: recommendation === null || recommendation.keep_original
      ? null
      : recommendation.trial_id,
    reasons: recommendation?.reasons ?? [],
    next: recommendation?.next ?? [],
    beliefs: study.episodes.flatMap(({ number, beliefs }) =>
      beliefs === undefined ? [] : [{ number, beliefs }]
    ),
    notes: notesOf(records),
    stop: closed?.stop ?? null,
    message: closed?.message ?? null,
    phases: phasesOf(trials),
  };
}
