/** What the page and the figure of the search say of kept runs. */
import assert from "node:assert/strict";
import type { SearchRun } from "./run_search.ts";
import { searchFigure } from "./search_figure.ts";
import {
  againstTable,
  aheadTable,
  halfTable,
  meansTable,
  problemsTable,
  problemTable,
  trialsTo,
} from "./search_page.ts";

const run = (sampler: string, seed: number, most: number, invalid = 0): SearchRun => ({
  ...{ problem: "hill", sampler, seed, trials: 200, suggestion_ms: 2, invalid, maximum: 1 },
  curve: Array.from({ length: 20 }, (_, index) => Math.min(most, (index + 1) * most / 10)),
});
const runs = [0, 1, 2].flatMap((seed) => [
  run("auto", seed, 0.8 + seed / 100),
  run("slow", seed, 0.4, 3),
  run("slower", seed, 0.2),
]);
const compared = { ours: "auto", own: ["auto"] };

Deno.test("a share is reached at the first budget whose median has it, or never", () => {
  const own = runs.filter(({ sampler }) => sampler === "auto");
  assert.equal(trialsTo(0.4, own), 50);
  assert.equal(trialsTo(0.81, own), 100);
  assert.equal(trialsTo(0.9, own), null);
  assert.equal(trialsTo(0.1, []), null);
});

Deno.test("the tables have each sampler, the best rival, and how many trials ours takes for as much", () => {
  assert.match(
    problemTable(runs, "hill"),
    /\| slow \| 12\.0 \| 24\.0 \| 40\.0 \| 40\.0 \| 3\.0 \|/,
  );
  assert.match(halfTable(runs, compared), /\| hill \| slow \| 40\.0 \| 50 \|/);
  const ahead = halfTable(runs, { ours: "slower", own: ["slower"] });
  assert.match(ahead, /\| hill \| auto \| 81\.0 \| not in 200 \|/);
  const against = againstTable(runs, compared).split("\n");
  assert.equal(against.length, 6, "a heading and four budgets");
  assert.match(against[4]!, /\| hill \| 100 \| slow \| 41\.0 \|/);
});

Deno.test("means by problem and budget, with the seeds; where ours is behind beyond noise is named", () => {
  const means = meansTable(runs, [{ name: "hill", tuned: false }], ["auto", "slow", "none"]);
  assert.match(means, /\| hill \| yes \| 100 \| 81\.0 \(3\) \| 40\.0 \(3\) \| – \|/);
  assert.match(aheadTable(runs, compared), /\| slow \| 30 \| 1 \| 1 \| – \|/);
  assert.match(
    aheadTable(runs, { ours: "slow", own: ["slow"] }),
    /\| auto \| 60 \| 1 \| 0 \| hill \|/,
  );
});

Deno.test("problems stand beside each other, fewer seeds in brackets, what was not run as a dash", () => {
  const valley = runs.filter(({ sampler, seed }) => sampler === "auto" && seed < 2)
    .map((one) => ({ ...one, problem: "valley" }));
  const table = problemsTable([...runs, ...valley], ["hill", "valley"], 100).split("\n");
  assert.equal(table[0], "| sampler | hill | valley |");
  assert.equal(table[2], "| auto | 81.0 | 80.5 (2) |");
  assert.equal(table[3], "| slow | 40.0 | – |");
});

Deno.test("the figure has a panel for each problem and a line for each sampler that is drawn", () => {
  const other = runs.map((one) => ({ ...one, problem: "valley" }));
  const svg = searchFigure([...runs, ...other], ["auto", "slow"]);
  for (const word of ["hill: ", "valley: ", ">auto<", ">slow<"]) {
    assert.ok(svg.includes(word), word);
  }
  assert.ok(!svg.includes("slower"));
});
