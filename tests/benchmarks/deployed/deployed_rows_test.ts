import assert from "node:assert/strict";
import { RECIPES, RUNTIMES } from "./deployed_recipes.ts";
import {
  draftsTable,
  fastestWithin,
  filesTable,
  type GgufFile,
  median,
  originalsTable,
  timesRatio,
  type Trial,
  trialsTable,
} from "./deployed_rows.ts";

const trial = (name: string, latency_ratio: number | null, drop: number | null): Trial => ({
  ...{ name, state: "completed", accuracy: 0.6, accuracy_drop: drop, kl: 0.01, size_bytes: 1e8 },
  ...{ drop_low: drop, drop_high: drop, latency_ratio, ratio_low: 0.3, ratio_high: 0.5 },
  ...{ latency_ms: 12, roofline_ms: 10 },
});

const gguf = (name: string, ms: number[], roofline_ms: number | null): GgufFile => ({
  ...{ name, bytes: 1e8, kl: [0.1, 0.2, 0.1, 0.2], ms, roofline_ms },
});

Deno.test("each runtime has recipes, with names and actions of their own", () => {
  for (const runtime of RUNTIMES) {
    const recipes = RECIPES.filter((one) => one.runtime === runtime);
    assert.ok(recipes.length > 0);
    assert.equal(new Set(recipes.map(({ name }) => name)).size, recipes.length);
    const actions = recipes.map((one) => JSON.stringify(one.actions));
    assert.equal(new Set(actions).size, recipes.length);
  }
});

Deno.test("the best is the fastest whose drop is below the limit; none where none is", () => {
  const unknown = trial("unknown", 0.2, null);
  const trials = [
    trial("slow", 0.6, 0),
    trial("fast", 0.4, 0.015),
    trial("lost", 0.3, 0.02),
    unknown,
  ];
  assert.equal(fastestWithin(trials)?.name, "fast");
  assert.equal(fastestWithin([unknown, trial("untimed", null, 0)]), null);
  const lines = trialsTable(trials).split("\n").slice(2);
  assert.match(
    lines[2]!,
    /^\| \*\*fast\*\* \| 100 \| 0\.010 \| 0\.600 \| 0\.015 \| 0\.40 \(0\.30 to/,
  );
  assert.match(lines[2]!, /\| 2\.5 \| 1\.20 \|$/);
});

Deno.test("times are compared pass by pass, so that what drifts with both is not counted", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  const { ratio, low, high } = timesRatio([10, 20, 40, 10, 20], [5, 10, 20, 5, 10]);
  assert.ok([ratio, low, high].every((one) => Math.abs(one - 2) < 1e-9));
  const apart = timesRatio([1, 2, 1, 2, 1], [1, 1, 1, 1, 1]);
  // ln 2 twice and 0 thrice: mean 0.2773, sd 0.3797, standard error 0.1698, t 2.776.
  assert.ok(Math.abs(Math.log(apart.ratio) - 0.27726) < 1e-4);
  assert.ok(Math.abs(Math.log(apart.high / apart.ratio) - 0.4713) < 1e-3);
  assert.throws(() => timesRatio([1, 2], [1]), /Cannot pair 2 passes with 1/);
});

Deno.test("files stand beside the original and beside llama.cpp's own Q4_0", () => {
  const files = [
    gguf("original", [20, 20, 20, 20, 20], 18),
    gguf("gptq 4 + head", [10, 10, 10, 10, 10], 8),
    gguf("llama.cpp Q4_0", [8, 8, 8, 8, 8], null),
  ];
  const lines = filesTable(files, [trial("gptq 4 + head", 0.5, 0.01)]).split("\n").slice(2);
  assert.match(
    lines[0]!,
    /^\| llama\.cpp Q4_0 .*\| – \| 8\.00 \| 0\.40 \(0\.40 to 0\.40\) \| {2}\| – \|$/,
  );
  assert.match(lines[1]!, /\| 0\.010 \(0\.010 to 0\.010\) \| 10\.00 \|/);
  assert.match(lines[1]!, /\| 0\.50 \(0\.50 to 0\.50\) \| 1\.25 \(1\.25 to 1\.25\) \| 1\.25 \|$/);
  assert.throws(() => filesTable(files.slice(0, 2), []), /Nothing was measured of llama\.cpp Q4_0/);
});

Deno.test("the original's runtimes stand by their time; one that did not run it has no row", () => {
  const original = (runtime: string, latency_ms: number | null) => ({
    ...{ runtime, inference_precision: null, latency_ms, reason: null },
  });
  const lines = originalsTable([original("a", 20), original("b", 8), original("c", null)])
    .split("\n").slice(2);
  assert.deepEqual(lines, ["| b | its own | 8.00 | 1.00 |", "| a | its own | 20.00 | 2.50 |"]);
});

Deno.test("drafts stand beside the original alone", () => {
  const ways = {
    original: { ms: [10, 10, 10], taken: [], equal: [] },
    "4 drafted": { ms: [8, 8, 8], taken: [0.5, 0.7], equal: [1, 1] },
  };
  const lines = draftsTable({ draft: "d", load: 0, ways }).split("\n").slice(2);
  assert.deepEqual(lines, [
    "| original | 10.00 |  | – | – |",
    "| 4 drafted | 8.00 | 0.80 (0.80 to 0.80) | 0.60 | 1.00 |",
  ]);
});
