import assert from "node:assert/strict";
import { execa } from "execa";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ensureEnvironment } from "../../../../python-backends/environments/environments.ts";
import { main } from "../../../../tracker/cli.ts";
import {
  type ForeignRun,
  importRuns,
  isRun,
} from "../../../../tracker/exchange/imports/import_runs.ts";
import { databaseRuns } from "../../../../tracker/exchange/mlflow/imports/import_database.ts";
import { folderRuns } from "../../../../tracker/exchange/mlflow/imports/import_folder.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";

const SCRIPT = new URL("./make_runs.py", import.meta.url).pathname;

/** Has MLflow itself write runs into a store; gives their ids. */
async function makeRuns(uri: string): Promise<{ parent: string; child: string }> {
  const { python } = await ensureEnvironment("mlflow");
  const { stdout } = await execa(python, [SCRIPT, uri], {
    env: { MLFLOW_ALLOW_FILE_STORE: "true", MLFLOW_DISABLE_TELEMETRY: "true" },
  });
  return JSON.parse(stdout.split("\n").at(-1)!);
}

function checkRuns(runs: ForeignRun[], ids: { parent: string; child: string }) {
  assert.deepEqual(runs.map(({ source_id }) => source_id).sort(), Object.values(ids).sort());
  const child = runs.find(({ source_id }) => source_id === ids.child)!;
  const parent = runs.find(({ source_id }) => source_id === ids.parent)!;
  assert.match(child.study_id, /^mlflow-kept-runs-[0-9a-f]{6}$/);
  assert.equal(parent.study_id, child.study_id);
  const { name, study_name, state, parent_id, started_at, finished_at } = child;
  assert.deepEqual([name, study_name, state, parent_id], [
    ...["child: 1", "kept runs", "failed", ids.parent],
  ]);
  assert.deepEqual([started_at, finished_at], [
    "2023-11-14T22:13:21.000Z",
    "2023-11-14T22:13:29.000Z",
  ]);
  assert.deepEqual([parent.state, parent.parent_id], ["completed", null]);
  assert.deepEqual(
    child.params.map(({ param, value }) => [param, value]).sort(),
    [["layers/0", "yes: no"], ["lr", "1e-3"]],
  );
  assert.deepEqual([child.tags["note"], child.tags["team"]], ["two\nlines: é", "007"]);
  const values = Object.fromEntries(
    child.measurements.map(({ metric, value }) => [metric, value]),
  );
  assert.deepEqual(values, { accuracy: 0.75, "train/loss": 0.25 });
  assert.deepEqual(child.series, [{
    metric: "train/loss",
    steps: [0, 1, 2, 3, 4],
    values: [0.5, NaN, Infinity, -Infinity, 0.25],
    times: [0, 1, 2, 3, 4].map((i) => 1_700_000_002_000 + i),
  }]);
}

Deno.test("runs of a legacy mlruns folder and of mlflow.db are read as MLflow wrote them", async (t) => {
  const directory = await Deno.makeTempDir();
  const folder = join(directory, "mlruns");
  const file = join(directory, "mlflow.db");
  try {
    const inFolder = await makeRuns(`file://${folder}`);
    const inFile = await makeRuns(`sqlite:///${file}`);

    await t.step("the folder", () => {
      checkRuns([...folderRuns(folder, "kept runs")].filter(isRun), inFolder);
      assert.equal([...folderRuns(folder, undefined)].filter(isRun).length, 3);
      assert.throws(
        () => [...folderRuns(folder, "kept run")].filter(isRun),
        /Did you mean "kept runs"\?/,
      );
    });

    await t.step("the file, which stays as it is", async () => {
      const before = await Deno.readFile(file);
      checkRuns([...databaseRuns(file, "kept runs")].filter(isRun), inFile);
      assert.equal([...databaseRuns(file, undefined)].filter(isRun).length, 3);
      assert.deepEqual(await Deno.readFile(file), before);
    });

    await t.step("into the store, once", async () => {
      const root = join(directory, "store");
      const words = ["import", "mlflow", folder, "--experiment", "kept runs", "--store", root];
      assert.equal(await main(words), 0);
      await using store = await openStore(root, { write: true });
      const again = await importRuns(store, { source: "mlflow", location: folder }, [
        ...folderRuns(folder, "kept runs"),
      ]);
      assert.deepEqual([again.added, again.unchanged], [0, 2]);
      const { rows } = await store.query(
        "SELECT name, state FROM imported_runs ORDER BY name",
      );
      assert.deepEqual(rows, [
        { name: "child: 1", state: "failed" },
        { name: "parent", state: "completed" },
      ]);
    });

    await t.step("what is broken is said with its place", async () => {
      const [metric] = await Array.fromAsync(walk(folder, /train\/loss$/));
      await Deno.writeTextFile(metric!, "1700000000000 0.5 0\nnonsense\n");
      const given = [...folderRuns(folder, "kept runs")];
      const broken = given.find((one) => !isRun(one));
      assert.match(JSON.stringify(broken), /Cannot read line 2 of .*train\/loss.*nonsense/);
      assert.equal(given.length, 2, "the other run comes all the same");
      const outside = join(directory, "outside");
      await Deno.writeTextFile(outside, "1 2 3\n");
      await Deno.remove(metric!);
      await Deno.symlink(outside, metric!);
      const names = [...folderRuns(folder, "kept runs")].filter(isRun).flatMap((one) =>
        one.measurements.map((measurement) => measurement.metric)
      );
      assert.deepEqual(names, ["accuracy"], "a link was followed");
      assert.throws(
        () => [...folderRuns(directory, undefined)].filter(isRun),
        /no folder in it has a meta\.yaml/,
      );
      assert.throws(
        () => [...databaseRuns(outside, undefined)].filter(isRun),
        /as an MLflow database/,
      );
      const empty = join(directory, "empty.db");
      await Deno.writeFile(empty, new Uint8Array());
      assert.throws(
        () => [...databaseRuns(empty, undefined)].filter(isRun),
        /its tables are others/,
      );
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

async function* walk(folder: string, name: RegExp): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory) yield* walk(path, name);
    else if (name.test(path)) yield path;
  }
}

Deno.test("a source that is refused leaves no store behind", () =>
  inDirectory(async (folder) => {
    const store = join(folder, "store");
    await Deno.mkdir(join(folder, "no_runs"));
    const { error } = console;
    console.error = () => {};
    try {
      const words = ["import", "mlflow", join(folder, "no_runs"), "--store", store];
      assert.equal(await main(words), 2);
    } finally {
      console.error = error;
    }
    assert.equal(existsSync(store), false);
  }));
