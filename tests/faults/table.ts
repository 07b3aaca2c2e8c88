/** What a run of the loops says at its end. */
import type { Loop } from "./loop.ts";
import type { LoopState } from "./state.ts";
import type { Failure } from "./walk_loops.ts";

/** How a failure is repeated. */
export function again({ loop, seed, point }: Pick<Failure, "loop" | "seed" | "point">): string {
  return `npx -y deno task faults --at ${loop}:${seed}:${point}`;
}

export function failureLine(failure: Failure): string {
  const { loop, seed, point, injected, message } = failure;
  const what = injected === null ? "" : ` ${injected.file}: ${injected.call} (${injected.kind}):`;
  return `FAILED seed ${seed}, loop ${loop}, point ${point}:${what} ${message}\n  again: ${
    again(failure)
  }`;
}

/** How far the walk under way is. */
function share({ next, points, complete, seed }: LoopState): string {
  const walks = complete === 0 ? "" : `${complete} whole, `;
  const part = points === null || points === 0
    ? `${next} points`
    : `${Math.floor(100 * next / points)} %`;
  return `${walks}${part} of seed ${seed}`;
}

/** Loop, points, runs, found so far, last failing seed, date: a Markdown table. */
export function tableLines(
  loops: readonly Loop[],
  states: ReadonlyMap<string, LoopState>,
): string[] {
  const rows = loops.flatMap(({ name, about }) => {
    const state = states.get(name);
    if (state === undefined) return [];
    const { points, runs, found, last_failing, date } = state;
    const failing = last_failing === null ? "none" : `${last_failing.seed}:${last_failing.point}`;
    return [[name, about, points ?? "", share(state), runs, found, failing, date]];
  });
  const head = ["loop", "what", "points", "done", "runs", "found", "last failing", "date"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
}

/** Which rare states the walks under way came to. */
export function reachedLines(
  loops: readonly Loop[],
  states: ReadonlyMap<string, LoopState>,
): string[] {
  return loops.flatMap(({ name, reaches }) => {
    const { reached = {} } = states.get(name) ?? {};
    const names = [...new Set([...reaches, ...Object.keys(reached)])].sort();
    return names.map((one) => `${name}: ${reached[one] ?? 0} × ${one}`);
  });
}
