/** Questions of docs/sql.md that one short statement answers, held to what was recorded. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import type { JournalRecord, Trial } from "../../../core/mod.ts";
import { toJson } from "../../../tracker/store/journal/record_line.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { run, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const round = (bits: number) => ({
  actions: [{
    agent: "shrinking",
    method: "round",
    params: { bits, group_size: 32, targets: "linear" },
  }],
});
const w = world({ max_trials: 5, strategies: [round(8), round(4)] });
const { trials } = await run(w);

/** A trial that was timed in a runtime, with the roofline of its minutes: three times as fast. */
function withRoofline(trial: Trial): Trial {
  const timed = trial.measurements.find(({ metric }) => metric === "latency_ms");
  if (timed === undefined) return trial;
  const roofline = { ...timed, metric: "roofline_ms", value: timed.value / 3 };
  return { ...trial, measurements: [...trial.measurements, roofline] };
}

const samplesOf = (trial_id: string) =>
  w.stored.find((one) => one.trial_id === trial_id && one.fidelity === "full")?.evaluation
    .samples ?? [];

async function samplesRecord(root: string, { trial_id }: Trial): Promise<JournalRecord[]> {
  const samples = samplesOf(trial_id);
  if (samples.length === 0) return [];
  const path = `samples/${trial_id}-full.jsonl`;
  const text = samples.map((one) => toJson(one)).join("\n") + "\n";
  await Deno.mkdir(dirname(join(root, path)), { recursive: true });
  await Deno.writeTextFile(join(root, path), text);
  return [{
    ...{ type: "samples_written", at: w.records[0]!.at, study_id: "study", trial_id, path },
    ...{ fidelity: "full", rows: samples.length },
    sha256: createHash("sha256").update(text).digest("hex"),
    protocol: { words: "1", words_text: "1" },
  }];
}

/** The trial that rounded to so many bits. */
const rounded = (bits: number) =>
  trials.find(({ actions, fidelity }) =>
    actions.length === 1 && actions[0]!.method === "round" &&
    actions[0]!.params["bits"] === bits && fidelity === "full"
  )!;

await inDirectory(async (root) => {
  await using store = await openStore(root, { write: true });
  for (const record of w.records) {
    if (record.type !== "trial_closed") await store.record(record);
    else {
      for (const one of await samplesRecord(root, record.trial)) await store.record(one);
      await store.record({ ...record, trial: withRoofline(record.trial) });
    }
  }
  await store.flush();
  const ask = async (sql: string) => (await store.query(sql)).rows;
  const answers = {
    flips: await ask(`SELECT task, count(*) AS lost FROM flips WHERE kept_by_methods = 'round'
      AND lost_by_methods = 'round' AND kept_by_bits = 8 AND lost_by_bits = 4 GROUP BY task`),
    timings: await ask("SELECT trial_id, latency_ms, roofline_ms, over_roofline FROM timings"),
    phases: await ask("SELECT phase, sum(seconds) AS seconds FROM phases GROUP BY phase"),
    steps: await ask(`SELECT from_value, to_value, avg(effect) AS effect FROM knob_pairs
      WHERE knob = 'bits' AND metric = 'size_bytes' AND fidelity = 'full' GROUP BY ALL`),
    importance: await ask(`SELECT from_value, to_value FROM knob_importance WHERE knob = 'bits'
      AND metric = 'size_bytes' AND fidelity = 'full'`),
    energy: await ask(`SELECT trial_id, energy_j_per_1k_tokens / accuracy AS joules
      FROM leaderboard_wide WHERE fidelity = 'full'`),
  };

  Deno.test("flips of one method's widths are asked for by its bits", () => {
    const low = new Map(samplesOf(rounded(4).trial_id).map((one) => [one.sample_hash, one.score]));
    const lost = samplesOf(rounded(8).trial_id).filter(({ task, sample_hash, score }) =>
      task === "words" && score === 1 && low.get(sample_hash) === 0
    );
    assert.ok(lost.length > 0);
    assert.deepEqual(
      answers.flips.map((row) => [row["task"], Number(row["lost"])]),
      [["words", lost.length]],
    );
  });

  Deno.test("latency stands beside the roofline of the same minutes", () => {
    assert.ok(answers.timings.length >= 4);
    for (const { trial_id, latency_ms, roofline_ms, over_roofline } of answers.timings) {
      const timed = trials.find((one) => one.trial_id === trial_id)!.measurements
        .findLast(({ metric }) => metric === "latency_ms")!;
      assert.equal(latency_ms, timed.value, "as timed, not as it is compared");
      assert.equal(roofline_ms, timed.value / 3);
      assert.ok(Math.abs(Number(over_roofline) - 3) < 1e-9);
    }
  });

  Deno.test("phases have one name each, and together all the time that spans have", () => {
    const found = new Map(answers.phases.map((row) => [row["phase"], Number(row["seconds"])]));
    for (const phase of found.keys()) {
      assert.ok(["apply", "evaluate", "speed", "loop"].includes(String(phase)), String(phase));
    }
    const spans = trials.flatMap((one) => one.spans);
    const sum = (all: readonly { seconds: number }[]) =>
      all.reduce((total, { seconds }) => total + seconds, 0);
    assert.ok(found.get("evaluate")! > 0);
    const evaluated = spans.filter(({ name, phase }) =>
      name !== "loop" && phase !== undefined && !["apply", "speed"].includes(phase)
    );
    assert.ok(Math.abs(found.get("evaluate")! - sum(evaluated)) < 1e-9);
    assert.ok(Math.abs([...found.values()].reduce((a, b) => a + b, 0) - sum(spans)) < 1e-9);
  });

  Deno.test("a knob's effect says from which value to which", () => {
    const size = (bits: number) =>
      rounded(bits).measurements.find(({ metric }) => metric === "size_bytes")!.value;
    const steps = new Map(
      answers.steps.map((row) => [`${row["from_value"]} to ${row["to_value"]}`, row["effect"]]),
    );
    assert.deepEqual([...steps.keys()].sort(), ["4 to 8"]);
    assert.equal(steps.get("4 to 8"), size(8) - size(4));
    assert.deepEqual(answers.importance, [{ from_value: "4", to_value: "8" }]);
  });

  Deno.test("energy of right answers is a quotient of two columns", () => {
    const trial = rounded(8);
    const value = (name: string) =>
      trial.measurements.find(({ metric, fidelity, task }) =>
        metric === name && (task ?? null) === null && (name !== "accuracy" || fidelity === "full")
      )!.value;
    const row = answers.energy.find(({ trial_id }) => trial_id === trial.trial_id)!;
    const wanted = value("energy_j_per_1k_tokens") / value("accuracy");
    assert.ok(Math.abs(Number(row["joules"]) / wanted - 1) < 1e-9);
  });
});
