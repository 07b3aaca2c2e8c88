import { seconds } from "../../loop/cost/budget.ts";
import { record, type Study } from "../../loop/study.ts";
import { UsageError } from "../../errors.ts";

/** What a user calls of a study by hand: one call at a time, and none once the study is closed. */
export interface Calls<Result> {
  /** Refuses in words what is called too early or too late, before anything is looked at. */
  require(what: string): void;
  /** Does the work of a call; the time since the last one was nobody's work. */
  make<T>(what: string, work: () => Promise<T>): Promise<T>;
  /** The last call: it waits for one that is under way. A second time it gives what the first gave. */
  end(work: () => Promise<Result>): Promise<Result>;
}

/** Shorter ones are those of a script that calls without a pause: they count as the study's own. */
const SHORTEST_PAUSE_SECONDS = 1;

/** Makes the calls of a study that was opened just now. */
export function callsOf<Result>(study: Study): Calls<Result> {
  let left = study.ports.clock.now();
  let running: { what: string; work: Promise<unknown> } | null = null;
  let ended: Promise<Result> | null = null;

  const require = (what: string): void => {
    if (ended !== null) throw new UsageError(`Cannot ${what} as the study is closed`);
    if (study.ports.signal.aborted) {
      throw new UsageError(`Cannot ${what} as the study was cancelled: close() it and resume it`);
    }
    if (running === null) return;
    throw new UsageError(
      `Cannot ${what} as the call before it is not done: await it (it was to ${running.what})`,
    );
  };

  const worked = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      await endPause(study, left);
      return await work();
    } finally {
      left = study.ports.clock.now();
    }
  };

  return {
    require,
    async make(what, work) {
      require(what);
      const doing = worked(work);
      running = { what, work: doing };
      try {
        return await doing;
      } finally {
        running = null;
      }
    },
    end(work) {
      const before = running?.work.catch(() => {}); // whoever called it is told
      ended ??= Promise.resolve(before).then(() => worked(work));
      return ended;
    },
  };
}

/** Takes a pause that began at a moment out of the study's time and out of that of its open trials. */
async function endPause(study: Study, since: number): Promise<void> {
  const paused = seconds(study, since);
  if (paused < SHORTEST_PAUSE_SECONDS) return;
  study.paused += paused;
  // One that is held waits anyhow until it is taken up.
  for (const draft of study.open) if (draft.held_since === null) draft.opened += 1000 * paused;
  await record(study, {
    type: "pause_ended",
    study_id: study.input.study_id,
    seconds: paused,
  });
}
