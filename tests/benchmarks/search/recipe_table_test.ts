/** The recorded table's space is the methods' own, and a recording that is killed goes on where it was. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  checkPoint,
  checkStrategy,
  pointKey,
  resolveActions,
  type ResolvedAction,
  type SpacePoint,
} from "../../../core/mod.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { smallFacts } from "../../core/spec_facts.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { OWN_SAMPLERS } from "./own_samplers.ts";
import { meanAndError } from "./recipe_divergence.ts";
import { maker } from "./recipe_maker.ts";
import { actionsOf, recipePoints, RECIPES } from "./recipe_space.ts";
import { mergeTables, partOf, partPoints, recordTable, type TableHead } from "./recipe_table.ts";
import { readRecordedProblem, RecordedTable } from "./problems/recorded_problem.ts";
import { runAlgorithm } from "./run_search.ts";

const TABLE = new URL("./recorded_recipes.json", import.meta.url);

/** Shapes of SmolLM2-135M. */
function smolFacts() {
  const facts = smallFacts();
  const block_parameters = 106_168_320 + 30 * 2 * 576;
  facts.model = {
    ...{
      ...facts.model,
      block_parameters,
      parameters: 134_515_008,
      group_sizes: [16, 32, 48, 64, 96, 192],
    },
    ...{ embedding_parameters: 28_311_552, linear_parameters: 106_168_320, head_dim: 64 },
    linear_shapes: [
      { out_features: 576, in_features: 576, count: 60 },
      { out_features: 192, in_features: 576, count: 60 },
      { out_features: 1536, in_features: 576, count: 60 },
      { out_features: 576, in_features: 1536, count: 30 },
    ],
  };
  return facts;
}

Deno.test("every recipe of the space is one that the methods take, or is refused before any work", async () => {
  const { methods } = await discoverPlugins();
  const facts = smolFacts();
  const points = recipePoints();
  assert.equal(new Set(points.map((point) => pointKey(RECIPES, point))).size, points.length);
  let valid = 0;
  for (const point of points) {
    assert.equal(checkPoint(RECIPES, point), null);
    const actions = resolveActions(actionsOf(point), methods, facts);
    if (actions.length > 0 && checkStrategy(actions, methods, facts).ok) valid++;
  }
  assert.ok(valid >= 200, `${valid} of ${points.length} recipes can run`);
  const begun = points.map(({ cut, recover }) => `${cut} ${recover}`)
    .filter((name, index, all) => name !== all[index - 1]);
  assert.equal(begun[0], "none undefined");
  assert.equal(
    new Set(begun).size,
    begun.length,
    "one beginning after the other is recorded whole",
  );
});

const HEAD: TableHead = {
  name: "three",
  source: "made up",
  dimensions: RecordedTable.shape.dimensions.parse([
    { name: "bits", kind: "ordinal", choices: [3, 4, 8] },
    { name: "clip", kind: "choice", choices: [true, false], when: { name: "bits", is: [4] } },
  ]),
  objectives: [
    { metric: "kl", direction: "minimize", reference: 1 },
    { metric: "size_bytes", direction: "minimize", reference: 10 },
  ],
};
const POINTS: SpacePoint[] = [{ bits: 8 }, { bits: 4, clip: true }, { bits: 3 }];

Deno.test("a recording that is killed goes on with the next recipe; samplers run on what is there", async () => {
  const path = join(temporaryFolder("recorded"), "table.json");
  const run: SpacePoint[] = [];
  const recording = (dies: boolean) => ({
    ...{ path, head: HEAD, points: POINTS, until: Infinity, told: () => {} },
    record(point: SpacePoint) {
      if (dies && run.length === 2) return Promise.reject(new Error("killed"));
      run.push(point);
      if (point["bits"] === 3) return Promise.resolve({ values: null, reason: "too few" });
      const bits = Number(point["bits"]);
      return Promise.resolve({ values: [1 / bits, bits], standard_errors: [0.01, 0] });
    },
  });
  await assert.rejects(recordTable(recording(true)), /killed/);
  const kept = await readFile(path, "utf8");
  assert.equal(RecordedTable.parse(JSON.parse(kept)).rows.length, 2);
  await writeFile(`${path}.part`, kept.slice(0, 40)); // torn while it was written
  const { rows } = await recordTable(recording(false));
  assert.deepEqual(run, POINTS, "none twice");
  assert.deepEqual(rows.map(({ values }) => values), [[1 / 8, 8], [1 / 4, 4], null]);
  const late = { ...recording(false), points: [{ bits: 4, clip: false }], until: 0 };
  assert.equal((await recordTable(late)).rows.length, 3, "its time is over");
  const problem = await readRecordedProblem(path);
  assert.equal(problem.evaluate({ bits: 3 }), null);
  assert.deepEqual(problem.evaluate({ bits: 8 }), [1 / 8, 8]);
  for (const [name, algorithm] of Object.entries(OWN_SAMPLERS)) {
    const { curve } = runAlgorithm(problem, { name, algorithm }, { seed: 0, trials: 20 });
    assert.ok(curve.at(-1)! > 0.5, `${name}: ${curve}`);
  }
  const other = { ...HEAD, name: "four" };
  await assert.rejects(recordTable({ ...recording(false), head: other }), /--fresh/);
});

Deno.test("parts of the points are recorded apart, and join in the order of the points", async () => {
  const folder = temporaryFolder("parts");
  const paths = [1, 2].map((number) => join(folder, `${number}.json`));
  const values = (point: SpacePoint) => [1, Number(point["bits"])];
  for (const [index, path] of paths.entries()) {
    const points = partPoints(POINTS, partOf(`${index + 1}/2`));
    await recordTable({
      ...{ path, head: HEAD, points, until: Infinity, told: () => {} },
      record: (point) => Promise.resolve({ values: values(point), standard_errors: [0, 0] }),
    });
  }
  const { rows } = await mergeTables(paths[1]!, [paths[0]!], POINTS);
  assert.deepEqual(rows.map(({ point }) => point), POINTS);
  assert.deepEqual(rows.map((row) => row.values), POINTS.map(values));
  const pairs = [1, 2].map((number) => partPoints([...POINTS, ...POINTS], { number, of: 2 }, 2));
  assert.deepEqual(pairs.map(({ length }) => length), [4, 2], "what is alike stays together");
  for (const text of ["3/2", "0/1", "2", "a/b"]) assert.throws(() => partOf(text), /such as 2\/3/);
});

Deno.test("the table that is kept is of this space, and no sampler uses it up", async () => {
  const table = RecordedTable.parse(JSON.parse(await readFile(TABLE, "utf8")));
  const dimensions = RecordedTable.shape.dimensions.parse(RECIPES.dimensions);
  assert.deepEqual(table.dimensions, dimensions, "record it anew: the space has changed");
  for (const { values, reason, standard_errors } of table.rows) {
    assert.ok(values === null ? reason !== undefined : standard_errors?.length === values.length);
  }
  const problem = await readRecordedProblem(TABLE.pathname);
  for (const [name, algorithm] of Object.entries(OWN_SAMPLERS)) {
    const run = runAlgorithm(problem, { name, algorithm }, { seed: 0, trials: 30 });
    assert.ok(run.curve.length === 3 && run.curve[2]! <= 1 + 1e-9, `${name}: ${run.curve}`);
  }
});

Deno.test("what two recipes in turn begin with is made once, by all of its knobs, and not after it failed", async () => {
  const made: string[] = [];
  const make = maker({ directory: "original", size_bytes: 0, seconds: 0 }, (parent, action) => {
    if (action.method === "broken") return Promise.reject(new Error("broken"));
    const directory = `${parent.directory}>${action.method}${action.params["bits"]}`;
    made.push(directory);
    return Promise.resolve({ directory, size_bytes: 1, seconds: parent.seconds + 1 });
  });
  const action = (method: string, bits: number): ResolvedAction => (
    { agent: "quantization", method, params: { bits }, resolved: [] }
  );
  const [a4, a3, b8] = [action("a", 4), action("a", 3), action("b", 8)];
  const directories: string[] = [];
  for (const recipe of [[a4], [a4, b8], [a3, b8], [], [a3, b8]]) {
    directories.push((await make(recipe)).directory);
  }
  assert.deepEqual(directories, [
    ...["original>a4", "original>a4>b8", "original>a3>b8", "original", "original>a3>b8"],
  ]);
  assert.deepEqual(made, [
    ...["original>a4", "original>a4>b8", "original>a3", "original>a3>b8"],
    ...["original>a3", "original>a3>b8"],
  ]);
  await assert.rejects(make([a3, action("broken", 1)]), /broken/);
  assert.equal((await make([a3, b8])).directory, "original>a3>b8");
  assert.equal(made.length, 7, "of the one that failed its beginning stood, its end was made");
});

Deno.test("the standard error is that of a mean of windows", () => {
  const { mean, error } = meanAndError([1, 2, 3, 4]);
  assert.equal(mean, 2.5);
  assert.ok(Math.abs(error - Math.sqrt(5 / 3 / 4)) < 1e-12);
});
