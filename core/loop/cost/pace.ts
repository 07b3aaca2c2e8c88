/** How much longer work takes here than its methods say. */
import { chainOf } from "../../strategies/chain.ts";
import { baselineOf, type Study } from "../study.ts";

/** Seconds of work that say little of other work: a start counts more in them than what is computed. */
const START_SECONDS = 60;
/** A process has a quarter of a machine at least, and no estimate is so far off. */
const MOST = 4;
/** How the span is called that holds what a call took beyond the spans that it finished. */
export const UNFINISHED = "unfinished";

const known = new WeakMap<Study, { readonly trials: number; readonly pace: number }>();

/** What the machine's other work, as seen beside the baseline's timing, makes of a second. */
function busyPace(study: Study): number {
  const { device, cores } = study.input.facts.device;
  if (device !== "cpu") return 1;
  const busy = baselineOf(study)?.measurements.map(({ busy_cores = 0 }) => busy_cores) ?? [];
  return cores / Math.max(cores / MOST, cores - Math.max(0, ...busy));
}

function measure({ trials, input: { methods, facts } }: Study, before: number): number {
  let [took, said] = [before * START_SECONDS, START_SECONDS];
  for (const { actions, spans } of trials) {
    const applied = spans.filter(({ action_index }) => action_index !== undefined);
    if (applied.length === 0) continue; // reused, or the original
    for (const [index, { action, entry, met }] of chainOf(actions, methods, facts).entries()) {
      const own = applied.filter(({ action_index }) => action_index === index);
      const seconds = own.reduce((sum, span) => sum + span.seconds, 0);
      const estimate = entry.method.estimateSeconds(action.params, met);
      // What failed or was stopped early says nothing; what was stopped late took that long at least.
      const ended_early = own.some(({ name }) => name.startsWith(UNFINISHED)) && seconds < estimate;
      if (own.length === 0 || ended_early) continue;
      took += seconds;
      said += estimate;
    }
  }
  return Math.min(MOST, Math.max(1, took / said));
}

/**
 * Times as long as methods say that their work takes: by what was applied in this study, and before that by
 * how busy the machine was. 1 to 4: who was faster than said may not be so the next time.
 */
export function workPace(study: Study): number {
  const count = study.trials.length;
  const last = known.get(study);
  if (last?.trials === count) return last.pace;
  const pace = measure(study, busyPace(study));
  known.set(study, { trials: count, pace });
  return pace;
}
