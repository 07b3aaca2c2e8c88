import type { Clock } from "../../../core/mod.ts";

/**
 * Time of day that runs on evenly: a clock that is set must not end a budget or lengthen it. What
 * the backend does is ended by `outOfTime`, whose signal its runner holds.
 */
export function studyClock(outOfTime: AbortController): Clock {
  return {
    now: () => performance.timeOrigin + performance.now(),
    endAfter(ms, ended = () => {}) {
      const timer = setTimeout(() => {
        outOfTime.abort();
        ended();
      }, ms);
      return { clear: () => clearTimeout(timer) };
    },
  };
}
