import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { openArtifactStore } from "../../tracker/artifacts/artifact_store.ts";

const THIRD_PARTY = fileURLToPath(
  new URL("../fixtures/third_party/dithering.ts", import.meta.url),
);

const rounding = (params: Record<string, number | string | boolean>) => ({
  actions: [{ agent: "quantization", method: "rtn", params }],
});

/** One study on the tiny model through every real process: what the loop promises, kept. */
Deno.test("a study on the tiny model: run, stop, resume, ask, and nothing is done twice", async (t) => {
  const folder = await Deno.makeTempDir();
  const store = join(folder, "store");
  const request = {
    model_name: "tiny",
    dataset: "tiny",
    max_trials: 3,
    strategies: [
      rounding({ bits: 8, group_size: "auto" }),
      rounding({ bits: 2, group_size: 32 }),
      {
        actions: [{ agent: "dithering", method: "dithered_rounding", params: { bits: 8 } }],
      },
    ],
    plugins: [THIRD_PARTY],
  };
  let study_id = "";
  const began = Date.now();
  try {
    await t.step("is cancelled in the second trial and says so", async () => {
      await using lab = await openLab({ store });
      const study = await lab.open(request, "tiny-test");
      study_id = study.study_id;
      const stop = new AbortController();
      const result = await study.run({
        ask: silentAsk(),
        signal: stop.signal,
        onEvent: (event) => {
          if (event.event === "phase" && event.trial_id.endsWith("t02")) stop.abort();
        },
      });
      assert.equal(result.stop, "cancelled");
      assert.deepEqual(result.trials.map(({ state }) => state), [
        "completed",
        "completed",
        "cancelled",
      ]);
    });

    await t.step("goes on where it stopped, with a third party's method", async () => {
      await using lab = await openLab({ store });
      const study = await lab.resume(study_id);
      const opened: string[] = [];
      const result = await study.run({
        ask: silentAsk(),
        signal: new AbortController().signal,
        onEvent: (event) => {
          if (event.event === "record" && event.record.type === "trial_opened") {
            opened.push(event.record.trial_id);
          }
        },
      });
      assert.deepEqual(opened, ["tiny-test/t03", "tiny-test/t04"], "finished trials are kept");
      const eight = result.trials.find(({ number }) => number === 1)!;
      const two = result.trials.find(({ number }) => number === 3)!;
      const dithered = result.trials.find(({ number }) => number === 4)!;
      assert.equal(eight.state, "completed");
      assert.equal(two.state, "stopped", "two bits cost the tiny model its answers");
      assert.equal(dithered.actions[0]?.method, "dithered_rounding");
      assert.equal(dithered.state, "completed", dithered.failure?.message);
      const auto = eight.actions[0]!.resolved.find(({ knob }) => knob === "group_size");
      assert.ok(auto !== undefined && typeof auto.value === "number", "auto became a number");
      assert.notEqual(auto.by, "user");
    });

    await t.step("answers in SQL and keeps its logs", async () => {
      await using lab = await openLab({ store });
      const rows = await lab.sql`
        SELECT number, state FROM trials WHERE study_id = ${study_id} ORDER BY number`;
      assert.deepEqual(rows.map(({ state }) => state), [
        "completed",
        "completed",
        "cancelled",
        "stopped",
        "completed",
      ]);
      const samples = await lab.sql`
        SELECT count(*) AS n FROM samples WHERE trial_id = ${`${study_id}/t01`}`;
      assert.ok(Number(samples[0]?.["n"]) > 0, "per-sample results are kept");
      const there = await lab.store.current();
      assert.match(
        await Deno.readTextFile(there!.logPath(study_id, `${study_id}/t01`, "evaluate")),
        /./,
      );
    });

    await t.step("keeps layers, energy, logs and provenance of its trials in columns", async () => {
      await using lab = await openLab({ store });
      const trial_id = `${study_id}/t01`;
      const [trial] = await lab.sql`
        SELECT readable_id, seed, command, environment_lock, t.artifact_id, verified_layers,
          created_at::VARCHAR AS made_at,
          minimum_cosine, (SELECT min(value) FROM layer_sensitivities l
            WHERE l.artifact_id = t.artifact_id AND metric = 'cosine') AS least,
          (SELECT count(*) FROM artifact_figures f WHERE f.trial_id = t.trial_id
            AND f.metric = 'cosine' AND f.action_index = 0) AS layers
        FROM trials t JOIN artifacts USING (artifact_id) WHERE trial_id = ${trial_id}`;
      assert.match(String(trial!["readable_id"]), /^s01-rtn-8bit/);
      assert.equal(trial!["seed"], 42);
      assert.equal(trial!["command"], "notebook");
      assert.equal(trial!["layers"], trial!["verified_layers"]);
      assert.equal(trial!["least"], trial!["minimum_cosine"]);
      const [run] = await lab.sql`
        SELECT count(*) AS n, count(DISTINCT environment_lock) AS locks,
          max(resumed::INT) AS resumed FROM runs WHERE study_id = ${study_id}`;
      assert.deepEqual(run, { n: 2, locks: 1, resumed: 1 });
      const [energy] = await lab.sql`
        SELECT reader, seconds > 0 AS worked, tokens FROM energy_readings
        WHERE trial_id = ${trial_id}`;
      assert.ok(energy!["worked"] && Number(energy!["tokens"]) > 0);
      const logs = await lab.sql`SELECT call, path, sha256 FROM logs WHERE trial_id = ${trial_id}`;
      const calls = logs.map(({ call }) => call);
      // What an earlier run of this test on the same machine has made is taken from there.
      const made = Date.parse(`${trial!["made_at"]}Z`) >= began;
      const ran = made ? ["apply", "verify", "evaluate", "speed"] : ["evaluate", "speed"];
      for (const call of ran) assert(calls.includes(call), `${call}: ${calls}`);
      for (const { path, sha256 } of logs) {
        const content = await readFile(join(store, String(path)));
        assert.equal(createHash("sha256").update(content).digest("hex"), sha256);
      }
      const [events] = await lab.sql`SELECT count(*) AS n FROM events WHERE study_id = ${study_id}`;
      assert.equal(events!["n"], (await (await lab.store.current())!.journalOf(study_id)).length);
    });

    await t.step("wrote an artifact that is what its manifest says", async () => {
      await using lab = await openLab({ store });
      const view = await lab.view(study_id);
      const id = view.trials.find(({ number }) => number === 1)!.artifact_ids.at(-1)!;
      using artifacts = await openArtifactStore(lab.home.artifacts);
      const artifact = await artifacts.get(id);
      assert.ok(artifact !== null);
      assert.deepEqual(await artifacts.verifyChecksums(artifact), []);
      assert.ok(artifact.verification!.minimum_cosine! > 0.99);
      const formula = artifact.formula_bytes!;
      assert.ok(Math.abs(artifact.size_bytes / formula - 1) < 0.1, "headers are small");
      const [first] = artifact.files;
      const content = await readFile(join(artifact.location, first!.path));
      assert.equal(createHash("sha256").update(content).digest("hex"), first!.sha256);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
