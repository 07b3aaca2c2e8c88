import { UsageError, type WorkerEvent } from "../../../core/mod.ts";
import type { Run } from "../../store/points/points.ts";

type PointsEvent = Extract<WorkerEvent, { event: "points" }>;

/** Values that one call may log: what tells too much tells it once a step of a long training. */
const MOST_VALUES = 500_000;

/** Takes what a call logs while it works. */
export interface PointKeeper {
  take(event: PointsEvent): void;
  /** When all is on disk: what was not kept, in words; null: all was. */
  done(): Promise<string | null>;
}

/** Writes points into a trial's run as they come. */
export function keepPoints(run: Pick<Run, "log">): PointKeeper {
  let values = 0;
  let dropped = 0;
  let refused: string | null = null;
  let durable: Promise<void> = Promise.resolve();
  return {
    take({ points }) {
      for (const { step, happened_at, values: metrics } of points) {
        const count = Object.keys(metrics).length;
        if (values + count > MOST_VALUES) {
          dropped += count;
          continue;
        }
        values += count;
        try {
          durable = run.log(metrics, { step, happened_at });
          durable.catch(() => {}); // `done` waits for the last: a failed write fails all that follow
        } catch (error) {
          if (!(error instanceof UsageError)) throw error;
          refused ??= error.message;
        }
      }
    },
    async done() {
      await durable;
      if (dropped === 0) return refused;
      return `${dropped} values were not kept: a call logs at most ${MOST_VALUES}`;
    },
  };
}
