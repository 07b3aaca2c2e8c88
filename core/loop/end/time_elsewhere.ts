import type { Change } from "../../contract/change.ts";
import type { Runtime } from "../../contract/runtime.ts";
import { comparableStudy } from "../../front/comparable.ts";
import { frontOf } from "../../front/objectives.ts";
import { timingKey } from "../../resume/replay.ts";
import type { Trial } from "../../schemas/trial.ts";
import { estimatePhase, remainingSeconds, SPEED, withinTime } from "../cost/budget.ts";
import { callBackend, notANumber } from "../draft.ts";
import type { Stop } from "../stop.ts";
import { type Draft, estimateFront, record, type Study } from "../study.ts";

/** As probable as this on the front, a trial is near it. */
const NEAR = 0.1;

/**
 * Times what is on the front or near it in every other runtime that ran the original and holds the trial,
 * in turn with the original there: best reward first, while there is time. A trial's own figures and
 * its place stay as they are.
 */
export async function timeElsewhere(study: Study, { stop }: Stop): Promise<void> {
  if (stop === "cancelled" || stop === "failed") return;
  const others = runtimesBeside(study);
  if (others.length === 0) return;
  for (const trial of nearFront(study)) {
    for (const runtime of others) {
      const done = study.elsewhere.has(
        timingKey({ trial_id: trial.trial_id, runtime: runtime.name }),
      );
      if (done || !holdsTrial(study, trial, runtime)) continue;
      const late = estimatePhase(study, SPEED) > remainingSeconds(study);
      if (late || study.ports.signal.aborted) return;
      await timeIn(study, trial, runtime.name);
    }
  }
}

/** Runtimes beside the study's own in which the original was timed. */
function runtimesBeside({ spec, input }: Study): Runtime[] {
  const timed = (spec.runtimes ?? []).map(({ runtime }) => runtime);
  return (input.runtimes ?? []).filter(({ name }) => name !== spec.runtime && timed.includes(name));
}

/** Members of the front, then those that may well be on it. */
function nearFront(study: Study): Trial[] {
  const { members } = frontOf(comparableStudy(study.trials, study.spec));
  const { probability } = estimateFront(study);
  const near = [...probability].filter(([, p]) => p >= NEAR).sort((a, b) => b[1] - a[1]);
  const ids = [...members.map(({ trial }) => trial.trial_id), ...near.map(([id]) => id)];
  return [...new Set(ids)]
    .flatMap((id) => study.trials.find(({ trial_id }) => trial_id === id) ?? [])
    .filter(({ strategy }) => strategy !== null);
}

function holdsTrial({ artifacts, input }: Study, trial: Trial, runtime: Runtime): boolean {
  const changes = trial.artifact_ids.flatMap((id) => artifacts.get(id)?.changes ?? null);
  return changes.every((change) =>
    // As its method told it, which the journal keeps field by field.
    change !== null && runtime.holds(change as unknown as Change, input.facts).ok
  );
}

async function timeIn(study: Study, trial: Trial, runtime: string): Promise<void> {
  const { input: { baseline, study_id, facts }, ports: { clock, backend } } = study;
  const artifact = study.artifacts.get(trial.artifact_ids.at(-1) ?? "");
  if (artifact === undefined) return;
  const begun = { opened: clock.now(), waited: 0, ended: null, held_since: null };
  const draft: Draft = { trial, artifact, model: facts.model, ...begun };
  const { trial_id } = trial;
  const timed = await withinTime(
    study,
    () =>
      callBackend(
        study,
        draft,
        SPEED,
        runtime,
        (alone) => backend.speed(trial_id, artifact, baseline, runtime, alone),
      ),
  );
  const about = { type: "timed_in_runtime" as const, study_id, trial_id, runtime };
  if ("ending" in timed) {
    const { state, failure } = timed.ending;
    if (state === "cancelled") return;
    study.elsewhere.add(timingKey(about));
    await record(study, { ...about, measurements: [], reason: failure?.message ?? state });
    return;
  }
  const { measurements, baseline_measurements } = timed.value;
  const rows = [
    ...measurements,
    ...baseline_measurements.map((row) => ({ ...row, metric: `baseline_${row.metric}` })),
  ];
  const broken = notANumber(rows, SPEED, null);
  study.elsewhere.add(timingKey(about));
  await record(study, {
    ...about,
    measurements: broken === null ? rows : [],
    reason: broken?.message ?? null,
  });
}
