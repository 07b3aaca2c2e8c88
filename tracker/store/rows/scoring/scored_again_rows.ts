import { type Measurement, type SampleResult, type ScoredAgain } from "../../../../core/mod.ts";
import { adds, type Change, measurementRow, moment, type Row } from "../change.ts";
import { keptInStore } from "../kept_file.ts";
import { readSamples, withoutUndefined, withScores } from "../sample_file.ts";

/** The columns by which two figures of a trial are of the same. */
function keyOf({ metric, task, slice, fidelity, runtime }: Measurement) {
  return { metric, task, slice, fidelity, runtime };
}

/** What a scoring changes of one trial on one rung. */
function trialChanges(
  { study_id, task, at, scorer, scorer_version, own_metric }: ScoredAgain,
  { trial_id, fidelity, measurements, replaced, protocol, protocol_part }:
    ScoredAgain["trials"][number],
  position: number,
): Change[] {
  const key = { study_id, trial_id };
  const scored_again_at = moment(at);
  const rows = (list: readonly Measurement[], more: Row) =>
    list.map((one) => ({ ...measurementRow(one, study_id, trial_id, position), ...more }));
  const by = { replaced_at: scored_again_at, replaced_by: `${scorer} ${scorer_version}` };
  const of = { ...key, fidelity, task };
  return [
    ...measurements.map((one): Change => ({
      ...{ op: "forget", tables: ["measurements"] },
      where: { ...key, ...keyOf(one) },
    })),
    ...adds("measurements", rows(measurements, { scored_again_at })),
    ...adds("earlier_measurements", rows(replaced, by)),
    ...own_metric === null || protocol === null ? [] : [
      { op: "forget" as const, tables: ["protocols"], where: of },
      ...adds("protocols", [{ ...of, protocol }]),
    ],
    ...own_metric === null ? [] : [
      { op: "forget" as const, tables: ["protocol_parts"], where: { ...of, part: "scorer" } },
      ...adds(
        "protocol_parts",
        protocol_part === null ? [] : [{ ...of, part: "scorer", value: protocol_part }],
      ),
    ],
  ];
}

/** Rewards that follow from the new figures; verdicts and gates stay. */
function rewardChanges({ study_id, rewards }: ScoredAgain): Change[] {
  return rewards.flatMap(({ trial_id, reward }): Change[] => {
    const where = { study_id, trial_id };
    return [
      { op: "change", table: "trials", where, set: { reward: reward.value } },
      { op: "forget", tables: ["reward_terms"], where },
      ...adds("reward_terms", reward.terms.map((one) => ({ ...where, ...one }))),
    ];
  });
}

/** That a task was scored again, and, where these scores count, what follows. */
export function scoredAgainRows(record: ScoredAgain, position: number): Change[] {
  const { study_id, task, scorer, scorer_version, beside_because, trials } = record;
  const told = adds("scored_again", [{
    ...{ study_id, task, scorer, scorer_version, beside_because, position },
    ...{ params: JSON.stringify(record.params), scored_at: moment(record.at) },
    evaluations: trials.length,
  }]);
  if (beside_because !== null) return told;
  return [
    ...told,
    ...trials.flatMap((one) => trialChanges(record, one, position)),
    ...rewardChanges(record),
    { op: "figures", study_id, trial_id: null },
    { op: "front", study_id },
  ];
}

/** The rows of samples by their new scores, and what of them could not be read. */
export async function scoredAgainSamples(
  root: string,
  { study_id, task, own_metric, beside_because, at, trials }: ScoredAgain,
): Promise<{ changes: Change[]; problems: { trial_id: string; problem: string }[] }> {
  if (beside_because !== null || own_metric === null) return { changes: [], problems: [] };
  const changes: Change[] = [];
  const problems: { trial_id: string; problem: string }[] = [];
  for (const { trial_id, fidelity, samples, scores } of trials) {
    const read = await keptInStore(root, samples, "samples file", async (file, sha256) => {
      const own = (await readSamples(file, sha256)).filter((sample) => sample.task === task);
      return { own, now: await withScores(root, own, { task, own_metric, scores }) };
    });
    if ("problem" in read) {
      problems.push({ trial_id, problem: read.problem });
      continue;
    }
    const where = { study_id, trial_id, fidelity, task };
    const { own, now } = read.value;
    const more = (sample: SampleResult, place: number) => ({
      ...{ study_id, trial_id, fidelity, ...sample },
      ...{ scored_again_at: moment(at), evaluated_score: own[place]!.score },
    });
    changes.push(
      { op: "forget", tables: ["samples"], where },
      ...adds("samples", now.map((sample, place) => withoutUndefined(more(sample, place)))),
    );
  }
  return { changes, problems };
}
