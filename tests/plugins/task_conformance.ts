import assert from "node:assert/strict";
import { basename } from "node:path";
import { type CallResult, type SampleResult, type Task, WireTask } from "../../core/mod.ts";
import type { Step } from "./conformance.ts";
import { wiredTask } from "../fixtures/wired_task.ts";

/** What the worker made of every task at once: its rows, and a few of them scored. */
export interface TasksRun {
  readonly prepared: CallResult<"prepare_data">;
  readonly scored: CallResult<"evaluate">;
  readonly samples: readonly SampleResult[];
  /** Of each task that were scored, where it has as many. */
  readonly rows: number;
}

/**
 * What every task must keep, in steps: it says what it is, passes the wire, its rows are found and
 * drawn, and its figure comes back under the name, unit and direction that it declares. `path`: its
 * file.
 */
export async function taskConformance(
  task: Task,
  path: string,
  run: TasksRun,
  step: Step,
): Promise<void> {
  await step("it says what it is and passes the wire", () => checkDeclared(task, path));
  await step("its rows are found and drawn, each once", () => checkPrepared(task, run));
  await step("its figure is the one that it declares, with its samples", () => {
    checkScored(task, run);
  });
}

function checkDeclared(task: Task, path: string): void {
  assert.equal(`${task.name}.ts`, basename(path));
  assert.match(task.summary, /^\S.*[^.]$/, "a summary is one line without a full stop");
  assert.ok(task.version.length > 0 && task.reported_metric.length > 0);
  assert.ok(task.proxy_samples > 0);
  assert.ok(task.full_samples === null || task.full_samples >= task.proxy_samples);
  assert.ok(task.lm_eval_task !== null || task.definition !== null, "nothing says what it asks");
  WireTask.parse(wiredTask(task, null));
}

function checkPrepared({ name }: Task, { prepared }: TasksRun): void {
  assert.deepEqual(prepared.refused.filter(({ task }) => task === name), []);
  const found = prepared.tasks.find(({ task }) => task === name);
  assert.ok(found !== undefined && found.rows > 0, `no row of ${name} was read`);
  assert.deepEqual(found.order.toSorted((a, b) => a - b), found.order.map((_, row) => row));
  assert.equal(found.order.length, found.rows);
  assert.match(found.data_sha256, /^[0-9a-f]{64}$/);
  if (found.groups !== null) assert.equal(found.groups.length, found.rows);
}

function checkScored(task: Task, { prepared, scored, samples, rows }: TasksRun): void {
  const refusal = scored.refused.find((one) => one.task === task.name);
  if (refusal !== undefined) {
    // Programs that a model writes are run in a sandbox alone: not every machine has one.
    assert.ok(task.runs_code === true, `${task.name} is refused: ${refusal.message}`);
    return;
  }
  const row = scored.measurements.find((one) =>
    one.task === task.name && one.slice === null && one.metric === task.reported_metric
  );
  assert.ok(row !== undefined, `no ${task.reported_metric} of ${task.name} came back`);
  assert.ok(Number.isFinite(row.value), `${task.name} is ${row.value}`);
  const { unit, direction } = wiredTask(task, null);
  assert.deepEqual([row.unit, row.direction, row.task_version], [unit, direction, task.version]);
  const own = samples.filter((one) => one.task === task.name);
  const found = prepared.tasks.find((one) => one.task === task.name)!.rows;
  assert.equal(new Set(own.map(({ sample_hash }) => sample_hash)).size, Math.min(rows, found));
  assert.match(scored.protocol[task.name] ?? "", /^[0-9a-f]+$/);
  assert.ok(Object.keys(scored.protocol_parts[task.name] ?? {}).length > 0);
}
