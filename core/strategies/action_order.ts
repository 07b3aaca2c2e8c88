import type { Effect, Part, Support } from "../contract/change.ts";
import type { Method } from "../contract/plugin.ts";

const PAST: Record<Effect, string> = {
  trains: "trained",
  prunes: "pruned",
  resizes: "resized",
  rounds: "rounded",
  encodes: "encoded",
  caches: "set",
};

/** Whether a later action may work on a part that an earlier one has changed: both must allow it. */
export function mayFollow(later: Method, earlier: Method): boolean {
  return later.order.follows.includes(earlier.order.effect) &&
    earlier.order.precedes.includes(later.order.effect);
}

/** The same with the reason, in the words of the one that minds. */
export function checkOrder(later: Method, earlier: Method, part: Part): Support {
  if (mayFollow(later, earlier)) return { ok: true };
  const done = `the ${part} weights that ${earlier.name} has ${PAST[earlier.order.effect]}`;
  const minds = later.order.follows.includes(earlier.order.effect) ? earlier : later;
  const who = minds === later ? "" : `${earlier.name} comes last there: `;
  return {
    ok: false,
    reason: `${later.name} cannot follow on ${done}: ${who}${minds.order.reason}`,
  };
}
