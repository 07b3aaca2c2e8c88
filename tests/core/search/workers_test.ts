/** Four workers at once: results come in any order, some fail, one never comes. */
import assert from "node:assert/strict";
import {
  type Algorithm,
  auto,
  checkPoint,
  hypervolume,
  pointKey,
  seededRandom,
  type Seen,
  surrogate,
  tpe,
} from "../../../core/mod.ts";
import { nsga2 } from "../../../plugins/search/_nsga2.ts";
import { randomSearch } from "../../../plugins/search/random.ts";
import { type Problem, recipes, search, square, stateOf, tried } from "./problems.ts";

const WORKERS = 4;
const FINISHED = 28;

interface Run {
  /** What is known in the end, in the order in which it was learnt. */
  readonly finished: readonly Seen[];
  /** The trial that never ends. */
  readonly lost: Seen;
  readonly proposed: readonly Seen["point"][];
}

/** Until so many have ended: the third trial never does, every ninth is failed by its machine. */
function withWorkers(algorithm: Algorithm, problem: Problem, seed: number): Run {
  const [random, durations] = [seededRandom(seed), seededRandom(seed + 100)];
  const finished: Seen[] = [];
  const running: { point: Seen["point"]; end: number; number: number }[] = [];
  const proposed: Seen["point"][] = [];
  while (finished.length < FINISHED) {
    while (running.length < WORKERS) {
      const pending = running.map(({ point }): Seen => ({ point, state: "pending", values: null }));
      const made = algorithm(stateOf(problem, [...finished, ...pending], { random, seed }));
      assert.ok(made !== null, "there is something left to try");
      const number = proposed.push(made.point);
      const now = Math.min(...running.map(({ end }) => end), Infinity);
      const begun = Number.isFinite(now) ? now : 0;
      running.push({
        point: made.point,
        end: number === 3 ? Infinity : begun + 1 + 20 * durations() ** 3,
        number,
      });
    }
    running.sort((a, b) => a.end - b.end);
    const { point, number } = running.shift()!;
    const failed: Seen = { point, state: "failed", values: null };
    finished.push(number % 9 === 0 ? failed : tried(problem, point));
  }
  const lost = running.find(({ end }) => end === Infinity)!;
  return { finished, lost: { point: lost.point, state: "pending", values: null }, proposed };
}

function volume(seen: readonly Seen[], reference: readonly number[]): number {
  const rows = seen.flatMap(({ state, values }) => state === "done" ? [values!] : []);
  return hypervolume(rows, reference, reference.map(() => "minimize" as const));
}

const algorithms = { randomSearch, nsga2, tpe, surrogate, auto };
for (const [name, algorithm] of Object.entries(algorithms)) {
  Deno.test(`${name} serves four workers, one of which never returns, and repeats itself`, () => {
    const { finished, lost, proposed } = withWorkers(algorithm, recipes, 1);
    assert.ok(finished.some(({ state }) => state === "failed"));
    assert.ok(proposed.every((point) => checkPoint(recipes.space, point) === null));
    const keyOf = (point: Seen["point"]) => pointKey(recipes.space, point);
    const ended = new Set(
      finished.filter(({ state }) => state !== "failed").map(({ point }) => keyOf(point)),
    );
    const failed = finished.filter(({ state }) => state === "failed");
    assert.ok(ended.size >= FINISHED - failed.length, "none was tried twice but what failed");
    const again = proposed.filter((point) => keyOf(point) === keyOf(lost.point));
    assert.equal(again.length, 1, "what is under way is not tried beside itself");
    assert.deepEqual(withWorkers(algorithm, recipes, 1), { finished, lost, proposed });
  });

  Deno.test(`${name} finds nearly as much of a front by as many finished trials as alone`, () => {
    const reference = [0.7, 0.7];
    let [beside, alone] = [0, 0];
    for (const seed of [1, 2, 3, 4]) {
      const { finished } = withWorkers(algorithm, square, seed);
      beside += volume(finished, reference);
      const done = finished.filter(({ state }) => state === "done").length;
      alone += volume(
        search(algorithm, square, done, { random: seededRandom(seed), seed }),
        reference,
      );
    }
    assert.ok(beside > 0.9 * alone, `${beside} of ${alone}`);
  });
}
