import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import type { BackendClient } from "../../../python-backends/client.ts";
import { exchange } from "../../../python-backends/worker/exchange.ts";
import { keepLogIn } from "../../../tracker/lab/runner/keep_log.ts";
import { createCallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, trialId } from "../../fixtures/stores/records.ts";
import { startScripted } from "../../python-backends/scripted_worker.ts";

/** A client whose every call is the real worker running this text. */
function scriptedClient(body: string): Pick<BackendClient, "run"> {
  const run: BackendClient["run"] = async (_request, options) => {
    const worker = await startScripted(body);
    const outcome = await exchange(worker, { call: "describe" }, {
      request_id: "test",
      threads: 1,
      ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
      stallMs: options.stallMs,
    });
    options.onLog?.(worker.log_path);
    return outcome.ok ? { ...outcome, value: outcome.value as never } : outcome;
  };
  return { run };
}

Deno.test("A call's warning is recorded with what became of it, and its log with its hash", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const records: JournalRecord[] = [];
    const body = `report.alert("memory nearly full", "0.4 GB free")
sys.stderr.write("a word to the log\\n")
raise CallFailure("invalid", "no")`;
    const runner = createCallRunner({
      client: scriptedClient(body) as BackendClient, // the runner only runs calls
      study_id: STUDY,
      signal: new AbortController().signal,
      onEvent: () => {},
      record: (record) => {
        records.push(record);
        return store.record(record);
      },
      keepLog: keepLogIn(store, STUDY),
      timestamp: () => AT,
    });
    const verify = { call: "verify", artifact_dir: "/a", source_dir: "/b" } as const;
    for (let time = 0; time < 2; time++) {
      const outcome = await runner(trialId(1), verify, "default");
      assert.equal(outcome.ok, false);
    }
    await store.flush();
    const { rows: alerts } = await store.query("SELECT condition, outcome FROM alerts");
    const alert = { condition: "memory nearly full", outcome: "verify ended: invalid" };
    assert.deepEqual(alerts, [alert, alert]);
    const { rows: [log, ...more] } = await store.query("SELECT path, bytes, sha256 FROM logs");
    assert.deepEqual(more, [], "both runs of the call stand in one file");
    const kept = await readFile(join(root, String(log!["path"])));
    assert.equal(kept.length, log!["bytes"]);
    assert.equal(kept.toString().match(/a word to the log/g)?.length, 2);
    assert.equal(createHash("sha256").update(kept).digest("hex"), log!["sha256"]);
    assert.equal(records.filter(({ type }) => type === "log_written").length, 2);

    const described = await runner("setup", { call: "describe" }, "default");
    assert.equal(described.ok, false);
    assert.equal(records.filter(({ type }) => type === "log_written").length, 2, "set-up has none");
  }));

Deno.test("A call silent for the study's stall_minutes is ended, recorded and shown with its use", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const shown: JournalRecord[] = [];
    const runner = createCallRunner({
      client: scriptedClient("time.sleep(60)") as BackendClient, // the runner only runs calls
      study_id: STUDY,
      signal: new AbortController().signal,
      onEvent: (event) => event.event === "record" && shown.push(event.record),
      record: (record) => store.record(record),
      keepLog: () => Promise.resolve(null),
      timestamp: () => AT,
      stall_minutes: 2.5 / 60,
    });
    const verify = { call: "verify", artifact_dir: "/a", source_dir: "/b" } as const;
    const outcome = await runner(trialId(1), verify, "default");
    assert.equal(outcome.ok ? null : outcome.failure.kind, "stall");
    await store.flush();
    const { rows: [alert] } = await store.query("SELECT condition, evidence, outcome FROM alerts");
    assert.equal(alert!["condition"], "no_progress");
    assert.match(
      String(alert!["evidence"]),
      /got no further for 2\.5 s; meanwhile 0\.\d\d CPU cores busy, .*GPU.*, \d+ MB held$/,
    );
    assert.equal(alert!["outcome"], "verify ended: stall");
    assert.deepEqual(shown.map(({ type }) => type), ["alert"]);
  }));

const TRAINING = `import json
for at in range(1, 4):
    report.points([
        {"step": at, "happened_at": 1000 * at, "values": {"loss": 4.0 - at, "learning_rate": 0.5}},
    ])
report.points([{"step": 3, "happened_at": 3000, "values": {"held_out_loss": float("inf")}}])
raise CallFailure("invalid", "no")`;

/** A runner of calls whose worker does what a script says. */
const runnerOf = (store: Store, script: string) =>
  createCallRunner({
    client: scriptedClient(script) as BackendClient, // the runner only runs calls
    study_id: STUDY,
    signal: new AbortController().signal,
    onEvent: () => {},
    record: (record) => store.record(record),
    keepLog: () => Promise.resolve(null),
    openRun: (key) => store.openRun(key),
    timestamp: () => AT,
  });

Deno.test("What a call logs while it works is kept under its trial and action", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const runner = runnerOf(store, TRAINING);
    const verify = { call: "verify", artifact_dir: "/a", source_dir: "/b" } as const;
    await runner(trialId(1), verify, "default", { action_index: 0 });
    await runner(trialId(1), verify, "default", { action_index: 2 });
    await runner(trialId(2), verify, "default"); // no action: its points are nobody's
    await store.flush();
    const { rows } = await store.query(
      "SELECT trial_id, action_index, metric, step, value FROM metric_points ORDER BY action_index, metric, step",
    );
    const of = (action_index: number) => [
      { trial_id: trialId(1), action_index, metric: "held_out_loss", step: 3, value: Infinity },
      ...[1, 2, 3].map((step) => (
        { trial_id: trialId(1), action_index, metric: "learning_rate", step, value: 0.5 }
      )),
      ...[1, 2, 3].map((step) => (
        { trial_id: trialId(1), action_index, metric: "loss", step, value: 4 - step }
      )),
    ];
    assert.deepEqual(rows, [...of(0), ...of(2)]);
    const key = { study_id: STUDY, trial_id: trialId(1), metric: "loss" };
    assert.deepEqual((await store.series({ ...key, action_index: 2 })).count, 3);
    assert.deepEqual((await store.series(key)).count, 0, "none were logged by hand");
    const { rows: alerts } = await store.query("SELECT * FROM alerts");
    assert.deepEqual(alerts, []);
  }));

Deno.test("Points with a name that no column can hold are told, and the call goes on", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const body = TRAINING.replaceAll('"loss"', '"lo\\nss"');
    const runner = runnerOf(store, body);
    const verify = { call: "verify", artifact_dir: "/a", source_dir: "/b" } as const;
    const outcome = await runner(trialId(1), verify, "default", { action_index: 0 });
    assert.equal(outcome.ok ? null : outcome.failure.message, "no");
    await store.flush();
    const { rows: [alert] } = await store.query("SELECT condition, evidence FROM alerts");
    assert.equal(alert!["condition"], "points");
    assert.match(
      String(alert!["evidence"]),
      /Cannot log the metric "lo\\nss" as it holds a control/,
    );
  }));
