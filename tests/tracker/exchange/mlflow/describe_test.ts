import assert from "node:assert/strict";
import type { JournalRecord } from "../../../../core/mod.ts";
import type { Checkpoints } from "../../../../tracker/exchange/mlflow/checkpoints.ts";
import { describe } from "../../../../tracker/exchange/mlflow/describe/describe.ts";
import type { Effect } from "../../../../tracker/exchange/mlflow/describe/effects.ts";
import {
  type KnownStudy,
  learn,
  newStudy,
  stageNames,
  studyOf,
} from "../../../../tracker/exchange/mlflow/describe/known_study.ts";
import { mirrorOptions } from "../../../../tracker/exchange/mlflow/lab_mirror.ts";
import {
  retention,
  type Score,
  stageFigures,
} from "../../../../tracker/exchange/mlflow/describe/metric_names.ts";
import { identityOf, newRunOf } from "../../../../tracker/exchange/mlflow/new_run.ts";
import { findHome } from "../../../../tracker/ground/home.ts";
import { run, world } from "../../../core/study_world.ts";

async function recorded(command = "pare run", max_trials = 2): Promise<JournalRecord[]> {
  const studyWorld = world({ max_trials });
  await run(studyWorld, {
    study_id: "s1",
    provenance: {
      command,
      code_commit: "abc-dirty",
      pare_version: "0",
      environments: { default: "e1" },
      model_revision: null,
    },
  });
  return studyWorld.records;
}

function fold(
  records: readonly JournalRecord[],
  checkpoints: Checkpoints = "front",
): { study: KnownStudy; effects: Effect[] } {
  const study = newStudy("s1", records[0]!.at);
  const effects = records.flatMap((record) => {
    learn(study, record);
    const parts = describe(record, study, { root: "/store", checkpoints });
    return [...parts].flatMap((part) => part.effects);
  });
  return { study, effects };
}

Deno.test("a run's first tags say who, what, where from, and no password of the command", async () => {
  const records = await recorded(
    "npx -y deno task pare run --mlflow https://ann:hunter22@host/x --yes",
  );
  const { study, effects } = fold(records);
  const { tags, run_name } = newRunOf(study, { study_id: "s1", trial_id: "s1/t01" }, "parent-1");
  const said = Object.fromEntries(tags.map(({ key, value }) => [key, value]));
  assert.equal(run_name, "t01 octet");
  assert.equal(said["mlflow.parentRunId"], "parent-1");
  assert.equal(
    said["mlflow.source.name"],
    "npx -y deno task pare run --mlflow https://host/x --yes",
  );
  assert.equal(said["mlflow.source.git.commit"], "abc-dirty");
  assert.deepEqual([said["mlflow.source.type"], said["pare.kind"]], ["LOCAL", "trial"]);
  assert.ok(!JSON.stringify([tags, effects]).includes("hunter22"));
  const notebook = fold(await recorded("notebook")).study;
  const { tags: others } = newRunOf(notebook, { study_id: "s1", trial_id: null }, null);
  assert.ok(others.some(({ key, value }) => key === "mlflow.source.type" && value === "NOTEBOOK"));
  assert.equal(identityOf({ study_id: "it's", trial_id: "a:b/c" }), "it%27s:a%3Ab%2Fc");
});

Deno.test("the same records ask for the same effects, whenever they are read", async () => {
  const records = await recorded();
  assert.deepEqual(fold(records).effects, fold(records).effects);
  const kinds = new Set(fold(records).effects.map(({ kind }) => kind));
  assert.deepEqual(
    [...kinds].sort(),
    ["datasets", "log", "recommend", "status", "text", "file"].sort(),
  );
});

Deno.test("an artifact's size is in megabytes, its ratio how many times fp16 is larger", async () => {
  const records = await recorded();
  const study = newStudy("s1", records[0]!.at);
  learn(study, records.find(({ type }) => type === "study_opened")!);
  const written = records.find((record) => record.type === "artifact_written")!;
  assert.ok(written.type === "artifact_written");
  const record = { ...written, artifact: { ...written.artifact, size_bytes: 53_800_000 } };
  learn(study, record);
  const [part] = describe(record, study, { root: "/store", checkpoints: "front" });
  const [logged] = part!.effects;
  assert.ok(logged?.kind === "log");
  const figures = Object.fromEntries(logged.data.metrics!.map(({ key, value }) => [key, value]));
  assert.equal(figures["baseline/model_size_mb"], 53.8);
  assert.equal(figures["baseline/compression_ratio"], 5); // the model has 269 MB in fp16
});

Deno.test("a study's end asks for the checkpoints on the front; all or none on request", async () => {
  const records = await recorded("pare run", 5);
  const holders = (checkpoints: Checkpoints) =>
    fold(records, checkpoints).effects.flatMap(({ to, ...effect }) =>
      effect.kind === "file" && effect.path === "checkpoint/manifest.json" ? [to.trial_id] : []
    ).sort();
  // The fourth is beaten; the first is recommended and lies with its model.
  assert.deepEqual(holders("front"), ["s1/t02", "s1/t03", "s1/t05"]);
  assert.deepEqual(holders("all"), [0, 1, 2, 3, 4, 5].map((number) => `s1/t0${number}`));
  assert.deepEqual(holders("none"), []);
});

Deno.test("PARE_MLFLOW_CHECKPOINTS is front where nothing is said, and a word of three", () => {
  const home = findHome({ PARE_HOME: "/nowhere" });
  const asked = (variables: Record<string, string>) =>
    mirrorOptions(home, "http://h", variables).checkpoints;
  assert.equal(asked({}), "front");
  assert.equal(asked({ PARE_MLFLOW_CHECKPOINTS: "all" }), "all");
  assert.throws(
    () => asked({ PARE_MLFLOW_CHECKPOINTS: "fornt" }),
    /Unknown value of PARE_MLFLOW_CHECKPOINTS "fornt"\. Did you mean "front"\?/,
  );
});

Deno.test("a trial opened again after an interruption starts its stages anew", async () => {
  const records = await recorded();
  const opening = records.findIndex((record) =>
    record.type === "trial_opened" && record.trial_id === "s1/t01"
  );
  const written = records.findIndex((record, i) =>
    i > opening && record.type === "artifact_written"
  );
  const resumed = [...records.slice(0, written + 1), ...records.slice(opening, written + 1)];
  assert.deepEqual(fold(resumed).study.trials.get("s1/t01")?.stages, ["octet"]);
  assert.deepEqual(stageNames([{ method: "a" }, { method: "b" }, { method: "a" }]), [
    "a",
    "b",
    "a_2",
  ]);
});

Deno.test("records without a place in MLflow ask nothing", async () => {
  const [opened] = await recorded();
  const study = newStudy("s1", opened!.at);
  const newer = { type: "of a later version", at: opened!.at, study_id: "s1" };
  assert.deepEqual(
    [...describe(newer as unknown as JournalRecord, study, { root: "/store", checkpoints: "all" })],
    [{ effects: [], points: null }],
  );
  const imported = { type: "run_imported", study_id: "mlflow-x" };
  assert.equal(studyOf(imported as unknown as JournalRecord), null);
});

Deno.test("retention is what is kept of the baseline, whichever way is better", () => {
  const accuracy = (value: number): Score => ({ value, metric: "accuracy", direction: "maximize" });
  const perplexity = (value: number): Score => ({
    ...accuracy(value),
    metric: "perplexity",
    direction: "minimize",
  });
  assert.equal(retention(accuracy(0.45), accuracy(0.5)), 0.9);
  assert.equal(retention(perplexity(20), perplexity(10)), 0.5);
  const figures = stageFigures("gptq", {
    scores: new Map([["arc", accuracy(0.49)], ["text", perplexity(20)], ["new", accuracy(1)]]),
    baseline: new Map([["arc", accuracy(0.5)], ["text", perplexity(10)]]),
    max_accuracy_drop: 0.01,
  });
  assert.deepEqual(
    [figures["gptq/passed/arc"], figures["gptq/passed/text"], figures["gptq/passed/new"]],
    [1, 0, undefined],
  );
  assert.deepEqual([figures["gptq/num_failed"], figures["gptq/overall_passed"]], [1, 0]);
  assert.equal(figures["gptq/core/new"], 1);
  // A perplexity twice as high is 100 % worse, as a comparison and SQL say it.
  assert.equal(figures["gptq/degradation/text"], 1);
  assert.equal(figures["gptq/degradation/arc"], 1 - 0.49 / 0.5);
});
