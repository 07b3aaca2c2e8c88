/** Runs, what is missing of them, and what their table says. */
import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import type { Algorithm } from "../../../core/mod.ts";
import { randomSearch } from "../../../plugins/search/random.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { MIXED } from "./problems/mixed_problem.ts";
import { keepRun, missingJobs, readRuns, runsOf } from "./results.ts";
import { runAlgorithm, type SearchRun, startPoints } from "./run_search.ts";
import { pairRows, samplerRows, searchMarkdown } from "./search_table.ts";

const run = (sampler: string, seed: number, shares: readonly number[]): SearchRun => ({
  ...{ problem: "hill", sampler, seed, trials: 10 * shares.length, curve: shares },
  ...{ suggestion_ms: 1, invalid: 0, maximum: 1 },
});
const curve = (share: number) => Array.from({ length: 10 }, (_, i) => share * (i + 1) / 10);

Deno.test("a run begins with the seed's points, is the same again, and grows", () => {
  const how = { seed: 3, trials: 40 };
  const own = { name: "random", algorithm: randomSearch };
  const first = runAlgorithm(MIXED, own, how);
  assert.deepEqual([first.curve.length, first.trials, first.seed], [4, 40, 3]);
  const again = runAlgorithm(MIXED, own, how);
  assert.deepEqual(again.curve, first.curve);
  assert.ok(first.curve.every((share, i) => share >= (first.curve[i - 1] ?? 0) && share < 1));
  assert.deepEqual(startPoints(MIXED, 3), startPoints(MIXED, 3));
  assert.notDeepEqual(startPoints(MIXED, 3), startPoints(MIXED, 4));
  assert.throws(
    () =>
      runAlgorithm(MIXED, {
        name: "odd",
        algorithm: () => ({ point: {}, mode: "explore", reason: "" }),
      }, how),
    /odd named what is no point of mixed: quant has no value/,
  );
});

Deno.test("a space that is used up gives nothing more, and its run is whole", () => {
  const few = {
    ...MIXED,
    space: { dimensions: [{ name: "one", kind: "choice" as const, choices: [1] }] },
  };
  const problem = { ...few, evaluate: () => [0.5, 10, 6] };
  const { curve, trials } = runAlgorithm(problem, { name: "random", algorithm: randomSearch }, {
    seed: 1,
    trials: 30,
  });
  assert.deepEqual([trials, curve.length, new Set(curve).size], [30, 3, 1]);
});

Deno.test("with four under way results come out of order, one never, and the run is the same again", () => {
  const how = { seed: 3, trials: 40, under_way: 4 };
  const asked: string[] = [];
  const pending: number[] = [];
  const algorithm: Algorithm = (state) => {
    const made = randomSearch(state);
    pending.push(state.seen.filter((one) => one.state === "pending").length);
    asked.push(JSON.stringify(made?.point));
    return made;
  };
  const first = runAlgorithm(MIXED, { name: "random", algorithm }, how);
  assert.equal(first.trials, 40);
  assert.equal(new Set(asked).size, asked.length, "what is under way is not named again");
  assert.deepEqual([...new Set(pending)].sort(), [0, 1, 2, 3]);
  assert.ok(pending.slice(4).every((count) => count === 3));
  assert.deepEqual(runAlgorithm(MIXED, { name: "random", algorithm }, how).curve, first.curve);
});

Deno.test("what is kept is not run again, and a line cut short by a kill is", async () => {
  const folder = temporaryFolder("bench-search");
  const path = join(folder, "runs.jsonl");
  assert.deepEqual(await readRuns(path), []);
  await keepRun(path, run("a", 0, curve(0.5)));
  await appendFile(path, '{"problem":"hill","sampler":"a","se');
  await keepRun(path, run("a", 2, curve(0.5)));
  const kept = await readRuns(path);
  assert.deepEqual(kept.map(({ seed }) => seed), [0, 2]);
  const wanted = {
    problems: ["hill"],
    samplers: ["a", "b"],
    seeds: [0, 1, 2],
    trials: (sampler: string) => sampler === "b" ? 50 : 100,
  };
  assert.deepEqual(missingJobs(wanted, kept, 2), [
    { problem: "hill", sampler: "a", seeds: [1], trials: 100 },
    { problem: "hill", sampler: "b", seeds: [0, 1], trials: 50 },
    { problem: "hill", sampler: "b", seeds: [2], trials: 50 },
  ]);
  assert.deepEqual(missingJobs({ ...wanted, trials: () => 200 }, kept).map(({ seeds }) => seeds), [
    [0, 1, 2],
    [0, 1, 2],
  ]);
});

Deno.test("a run of a table that was recorded anew since counts as none", () => {
  const hill = { ...MIXED, name: "hill", maximum: 1 + 1e-12 };
  const [now, before] = [run("a", 0, curve(0.5)), { ...run("a", 1, curve(0.5)), maximum: 0.9 }];
  assert.deepEqual(runsOf([hill], [now, before]), [now]);
  assert.deepEqual(runsOf([], [now]), []);
});

const runs = [
  ...[0, 1, 2, 3].map((seed) => run("ours", seed, curve(0.8 + seed / 100))),
  ...[0, 1, 2, 3].map((seed) => run("rival", seed, curve(0.7 + seed / 100))),
  ...[0, 1, 2].map((seed) => run("other", seed, curve(0.5))),
];

Deno.test("samplers are told by medians, pairs by their differences over shared seeds", () => {
  const [ours] = samplerRows(runs);
  assert.equal(ours!.seeds, 4);
  assert.ok(Math.abs(ours!.shares[100]!.median - 0.815) < 1e-12);
  assert.equal(ours!.shares[200], null, "no run is so long");
  const at = (rival: string, budget: number) =>
    pairRows(runs, "ours").find((row) => row.rival === rival && row.budget === budget)!;
  const pair = at("rival", 100);
  assert.deepEqual([pair.seeds, pair.wins, pair.losses], [4, 4, 0]);
  assert.ok(Math.abs(pair.difference - 0.1) < 1e-12);
  assert.ok(pair.interval[0] > 0.0999 && pair.interval[1] < 0.1001, "the same in every pair");
  assert.equal(at("other", 60).seeds, 3);
  assert.equal(pairRows(runs, "ours").some(({ budget }) => budget === 200), false);
  assert.deepEqual(pairRows(runs, "nobody"), []);
});

Deno.test("the table says medians, and ours beside the best rival, also where it loses", () => {
  const text = searchMarkdown(runs, { ours: "ours", own: ["ours"] });
  assert.match(text, /\| ours \| 24\.4 \| 48\.9 \| 81\.5 \| – \|/);
  assert.match(text, /\| hill \| 100 \| rival \| 10\.0 \| 10\.0 to 10\.0 \| 4 \| 0 \| 4 \|/);
  const lost = searchMarkdown(runs, { ours: "other", own: ["other"] });
  assert.match(lost, /\| hill \| 100 \| ours \| -31\.0 \| .* \| 0 \| 3 \| 3 \|/);
  assert.doesNotMatch(searchMarkdown(runs, { ours: null, own: [] }), /best rival/);
});
