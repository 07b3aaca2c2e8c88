/** The runner of loops, on loops whose every point is known. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { temporaryFolder } from "../temporary_folder.ts";
import { diskStates } from "./crash/disk_states.ts";
import type { Operation } from "./crash/record.ts";
import { findLoops } from "./find_loops.ts";
import { injecting, type Loop, sometimes } from "./loop.ts";
import { inTurn } from "./shuffled_places.ts";
import { type LoopState, readStates, writeStates } from "./state.ts";
import { failureLine, tableLines } from "./table.ts";
import { type Failure, walkLoops } from "./walk_loops.ts";

/** Breaks at these points of seed 1. */
function known(points: number, broken: readonly number[], reaches: readonly string[] = []): Loop {
  return {
    ...{ name: "known", about: "what is known", reaches },
    open: (seed) =>
      Promise.resolve({
        points,
        async at(n) {
          if (n >= points) return undefined;
          const injected = { file: "f", call: `byte ${n}`, kind: "survivable" } as const;
          return await injecting(injected, () => {
            if (n === 1) sometimes("the second point");
            if (seed === 1 && broken.includes(n)) throw new Error(`${n} was read`);
          });
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
  };
}

async function walked(loop: Loop, budget_ms: number, states: Map<string, LoopState>) {
  const failures: Failure[] = [];
  const onFailure = (one: Failure) => failures.push(one);
  await walkLoops({ loops: [loop], budget_ms, seed: 1, states, onFailure, until_failure: true });
  return failures;
}

Deno.test("a point that breaks is named with what was injected, and the next run goes on behind it", async () => {
  const path = join(temporaryFolder("faults"), "faults.json");
  const loop = known(5, [3], ["the second point"]);
  const states = new Map<string, LoopState>();
  const [failure] = await walked(loop, 60_000, states);
  assert.equal(
    failureLine(failure!),
    "FAILED seed 1, loop known, point 3: f: byte 3 (survivable): 3 was read\n" +
      "  again: npx -y deno task faults --at known:1:3",
  );
  writeStates(path, states);
  const kept = readStates(path);
  assert.deepEqual(kept, states);
  assert.equal(kept.get("known")!.next, 4);
  assert.deepEqual(await walked(loop, 500, kept), []);
  const { complete, seed, last_failing, found } = kept.get("known")!;
  assert.ok(complete > 1 && seed > 2, "the walk met its end, and other seeds followed");
  assert.deepEqual([last_failing, found], [{ seed: 1, point: 3 }, 1]);
  assert.match(tableLines([loop], kept).at(-1)!, /^\| known \| .* \| 1 \| 1:3 \| 20/);
});

Deno.test("a whole walk that never came to a state which it must reach has failed", async () => {
  const [failure] = await walked(known(1, [], ["the second point"]), 60_000, new Map());
  assert.equal(failure!.message, 'a complete walk never reached "the second point"');
});

Deno.test("a walk of 2,000 points that never came to such a state has failed before its end", async () => {
  const loop = known(1_000_000, [], ["what no point comes to"]);
  const [failure] = await walked(loop, 60_000, new Map());
  assert.equal(failure!.point, 1_999);
  assert.equal(failure!.message, '2000 points never reached "what no point comes to"');
});

Deno.test("a loop that has met its end leaves most turns to those that have not", async () => {
  const loops = [known(1_000_000, []), { ...known(0, []), name: "short" }];
  const states = new Map<string, LoopState>();
  const turns: string[] = [];
  let before = 0;
  const onTurn = () => {
    const { complete } = states.get("short")!;
    turns.push(complete > before ? "short" : "long");
    before = complete;
  };
  await walkLoops({ loops, states, seed: 1, budget_ms: 400, turn_ms: 0, onTurn, onFailure() {} });
  assert.equal(
    turns.slice(0, 12).join(),
    "long,short,long,long,long,long,short,long,long,long,long,short",
  );
});

Deno.test("a point without an end has failed, and the next one begins in a walk of its own", async () => {
  let opened = 0;
  const asked: [walk: number, point: number][] = [];
  const endless: Loop = {
    ...{ name: "endless", about: "a point that waits", reaches: [] },
    open() {
      const own = ++opened;
      return Promise.resolve({
        at(n) {
          asked.push([own, n]);
          if (n === 1) return new Promise(() => {});
          return injecting({ file: "f", call: `${n}`, kind: "survivable" }, () => {});
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      });
    },
  };
  const failures: Failure[] = [];
  const onFailure = (one: Failure) => failures.push(one);
  const states = new Map();
  await walkLoops({
    ...{ loops: [endless], budget_ms: 400, seed: 1, states, onFailure, point_ms: 15 },
  });
  assert.deepEqual(asked.slice(0, 3), [[1, 0], [1, 1], [2, 2]]);
  assert.deepEqual(failures.map(({ point }) => point), [1]);
  assert.match(failures[0]!.message, /^it did not come to its end in 0\.0/);
});

Deno.test("the first points of a walk meet every stratum, and each place comes once", () => {
  const strata = [..."aaabcabaa"];
  for (let seed = 0; seed < 20; seed++) {
    const order = inTurn(strata, seed);
    assert.deepEqual(order.toSorted((a, b) => a - b), [...strata.keys()]);
    assert.deepEqual(order.slice(0, 3).map((place) => strata[place]).sort(), ["a", "b", "c"]);
  }
});

Deno.test("states of a disk that hold the same bytes are one, with all that the last acknowledges", () => {
  const bytes = new TextEncoder().encode("x");
  const write: Operation = { kind: "write", path: "/r/f", at: 0, bytes };
  const operations: Operation[] = [
    { kind: "create", path: "/r/f" },
    write,
    { kind: "ack", said: "1" },
    { kind: "sync", path: "/r/f" },
    { kind: "sync", path: "/r" },
    write, // the same bytes again
    { kind: "ack", said: "2" },
  ];
  const found = (adds_up: boolean) => {
    const { states, equal } = diskStates({ root: "/r", base: new Map(), operations }, 1, adds_up);
    const said = states.map(({ files, acknowledged }) => {
      const lies = [...files()].map(([path, content]) =>
        `${path}=${new TextDecoder().decode(content!)}`
      );
      return `${lies} ${acknowledged}`;
    });
    return { said: said.sort(), equal };
  };
  const { said, equal } = found(true);
  assert.deepEqual(said, [" 1", "f=\0 1,2", "f= 1", "f=x 1,2"]);
  assert.ok(equal > 0);
  const by_word = found(false);
  assert.ok(by_word.said.includes("f=x ") && by_word.said.includes("f=x 1,2"));
  assert.equal(by_word.said.length + by_word.equal, said.length + equal);
});

Deno.test("every file of loops/ is a loop of its own name", async () => {
  const names = (await findLoops()).map(({ name }) => name);
  assert.ok(names.length > 0);
  assert.equal(new Set(names).size, names.length, names.join());
});

Deno.test("a run until all is whole ends there, long before its budget", async () => {
  const states = new Map<string, LoopState>();
  const loops = [known(5, []), { ...known(40, []), name: "longer" }];
  const began = performance.now();
  await walkLoops({
    ...{
      loops,
      states,
      seed: 1,
      budget_ms: 600_000,
      turn_ms: 0,
      until_whole: true,
      onFailure() {},
    },
  });
  assert.ok(performance.now() - began < 60_000);
  assert.ok([...states.values()].every(({ complete }) => complete >= 1));
});
