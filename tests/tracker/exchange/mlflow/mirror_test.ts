import assert from "node:assert/strict";
import { type Mirror } from "../../../../tracker/exchange/mlflow/mirror.ts";
import { join } from "node:path";
import type { JournalRecord } from "../../../../core/mod.ts";
import { createMlflowClient } from "../../../../tracker/exchange/mlflow/client/client.ts";
import { connectionOf } from "../../../../tracker/exchange/mlflow/client/connection.ts";
import { deliver } from "../../../../tracker/exchange/mlflow/deliver.ts";
import { serverRuns } from "../../../../tracker/exchange/mlflow/imports/import_server.ts";
import { newStudy } from "../../../../tracker/exchange/mlflow/describe/known_study.ts";
import { startMlflowServer } from "../../../../tracker/exchange/mlflow/server.ts";
import { startMirror } from "../../../../tracker/exchange/mlflow/start_mirror.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { mirrorTo, recordStudy, type RunSeen, runsOf } from "./mirror_world.ts";
import { type Trouble, troubledProxy } from "./trouble.ts";

const AT = "2026-01-01T01:00:00.000Z";

/** Records of every kind that a study of the test world does not write itself. */
function otherRecords(study_id: string): JournalRecord[] {
  const trial = { at: AT, study_id, trial_id: `${study_id}/t01` };
  return [
    { type: "note", at: AT, study_id, trial_id: null, note_id: "1", text: "a study's note" },
    { type: "note", ...trial, note_id: "2", text: 'it\'s "a" note: ü' },
    {
      ...{ type: "resources", ...trial, seconds: 2.6, call: "apply", rss_bytes: 7 },
      ...{ cpu_utilisation: 1.5, free_memory_bytes: 8 },
      ...{ gpu_memory_bytes: null, gpu_utilisation: null, power_watts: null },
    },
    {
      ...{ type: "energy_read", ...trial, call: "speed", reader: "estimate", joules: 5 },
      ...{ seconds: 2, idle_watts: 0, tokens: 100 },
    },
    {
      ...{ type: "layer_sensitivities", ...trial, artifact_id: "%2e%2e/a1", metric: "cosine" },
      ...{ unit: "1", layers: [{ layer: "l0", value: 0.5 }] },
    },
    { type: "alert", ...trial, condition: "busy machine!", evidence: "e", action: "a" },
  ];
}

const ofTrial = (trial_id: string) => ({ tags }: RunSeen) => tags["pare.trial_id"] === trial_id;

async function passUntilDone(mirror: Mirror, end: number) {
  for (let tries = 1;; tries++) {
    try {
      await mirror.pass({ s1: end });
      return tries;
    } catch (error) {
      assert.ok(tries < 60, `not done after ${tries} passes: ${error}`);
    }
  }
}

Deno.test("studies are mirrored to a real server", async (t) => {
  const directory = await Deno.makeTempDir();
  const server = await startMlflowServer({ directory: join(directory, "server"), port: 0 });
  const root = join(directory, "store");
  const client = createMlflowClient(connectionOf(server.uri, {}));
  try {
    const { end, records } = await recordStudy(root, "s1", {}, otherRecords("s1"));
    const refused: string[] = [];
    const onSaid = (sentence: string) => refused.push(sentence);
    const once = mirrorTo(server.uri, root, { onSaid });
    once.follow("s1", null);
    await once.pass({ s1: end });
    const first = await runsOf(server.uri, "s1");

    await t.step("study, baseline and trials are runs with what they said", () => {
      const names = Object.keys(first).sort();
      assert.equal(names.length, 5, names.join());
      const [baseline, octet] = [first["t00 baseline"]!, first["t01 octet"]!];
      const study = first["s1"]!;
      assert.deepEqual([baseline.parent, octet.parent, study.parent], ["s1", "s1", null]);
      assert.deepEqual([study.status, octet.status], ["FINISHED", "FINISHED"]);
      const [point] = octet.points["octet/retention/words"]!;
      assert.match(point!, /^1767\d{9} 0 1$/);
      for (const name of ["core", "degradation", "passed"]) {
        assert.equal(octet.points[`octet/${name}/words`]?.length, 1, name);
      }
      assert.deepEqual(study.points["baseline/core/words"], baseline.points["baseline/core/words"]);
      assert.equal(study.points["hypervolume"]?.length, 3);
      assert.equal(octet.points["resources/apply/rss_bytes"]?.[0], `${Date.parse(AT)} 3 7`);
      assert.equal(octet.points["energy/speed/joules"]?.[0], `${Date.parse(AT)} 0 5`);
      assert.match(octet.tags["mlflow.note.content"]!, /octet it\n\nit's "a" note: ü$/);
      assert.match(study.tags["mlflow.note.content"]!, /a study's note$/);
      assert.equal(octet.tags["pare.alert.busy machine_"], "e; a");
      assert.ok(study.files.includes("baseline/results.json"));
      assert.deepEqual(octet.files, ["stages/octet.json", "trial.json"]);
      const tuned = Object.values(first).find(({ name }) => name.startsWith("t02"))!;
      assert.equal(tuned.params["tune.bits"], "4");
    });

    await t.step("what the server cannot take is told, and the rest is there", () => {
      assert.equal(refused.length, 1, refused.join("\n"));
      assert.match(
        refused[0]!,
        /^MLflow did not take: Cannot use "layers\/%2e%2e\/a1-cosine\.json".*would leave/,
      );
    });

    await t.step("one thing that is refused leaves the rest of its batch", async () => {
      const experiment_id = await client.createExperiment("refusals");
      const run = { experiment_id, run_name: "r", start_time: 1, tags: [] };
      const place = (await client.createRun(run)).info;
      await client.log(place.run_id, { params: [{ key: "p7", value: "before" }] });
      const params = Array.from({ length: 20 }, (_, i) => ({ key: `p${i}`, value: "after" }));
      const metrics = [{ key: "m", value: 1, timestamp: 1, step: 0 }];
      const told: string[] = [];
      await deliver({
        client,
        book: { place: () => Promise.resolve(place), forget: () => {} },
        max_file_bytes: 1,
        quiet: () => Promise.resolve(),
        study: (study_id) => newStudy(study_id, AT),
        onSaid: (sentence) => told.push(sentence),
      }, [{ to: { study_id: "s", trial_id: null }, kind: "log", data: { params, metrics } }]);
      const { data } = await client.getRun(place.run_id);
      const kept = new Map(data.params.map(({ key, value }) => [key, value]));
      assert.equal(kept.size, 20);
      assert.deepEqual([kept.get("p7"), kept.get("p8"), kept.get("p19")], [
        ...["before", "after", "after"],
      ]);
      assert.equal(data.metrics.length, 1);
      assert.equal(told.length, 1, told.join("\n"));
      assert.match(told[0]!, /Changing param values is not allowed/);
    });

    await t.step(
      "the recommended checkpoint's files lie beside its model, but too large ones",
      async () => {
        const experiment_id = await client.createExperiment("files");
        const run = { experiment_id, run_name: "r", start_time: 1, tags: [] };
        const place = (await client.createRun(run)).info;
        const location = join(directory, "files");
        await Deno.mkdir(location);
        await Deno.writeTextFile(join(location, "config.json"), '{"bits": 4}');
        await Deno.writeTextFile(join(location, "large.json"), '{"bits": 400}');
        const left_out: string[] = [];
        await deliver({
          client,
          book: { place: () => Promise.resolve(place), forget: () => {} },
          max_file_bytes: 11,
          quiet: () => Promise.resolve(),
          study: (study_id) => newStudy(study_id, AT),
          onSaid: (sentence) => left_out.push(sentence),
        }, [{
          to: { study_id: "s", trial_id: "s/t01" },
          kind: "recommend",
          recommended: {
            ...{ model: "files", description: "", trial_id: "s/t01", artifact_id: "a", location },
            files: ["config.json", "large.json"].map((path) => ({
              path,
              file: join(location, path),
            })),
            at: AT,
          },
        }]);
        const filter = `source_run_id = '${place.run_id}'`;
        const [model] = await client.findLoggedModels(experiment_id, filter);
        const { artifact_uri } = model!.info;
        assert.deepEqual(await client.getJson(artifact_uri, "checkpoint/config.json"), { bits: 4 });
        await assert.rejects(client.getJson(artifact_uri, "checkpoint/large.json"));
        assert.equal(left_out.length, 1);
        assert.match(
          left_out[0]!,
          /^Left out of MLflow: .*large\.json has 13 bytes, of at most 11/,
        );
        const { data } = await client.getRun(place.run_id);
        const tag = data.tags.find(({ key }) => key === "pare.left_out.checkpoint/large.json");
        assert.match(tag!.value, /PARE_MLFLOW_MAX_FILE raises that/);
      },
    );

    await t.step("the recommended checkpoint is in the registry, once", async () => {
      const again = mirrorTo(server.uri, root);
      again.follow("s1", null);
      await again.pass({ s1: end });
      const name = "pare-small-words";
      const version = await client.versionByAlias(name, "recommended");
      assert.equal((await client.modelVersions(name)).length, 1);
      assert.match(version.source, /^models:\/m-/);
      const { data } = await client.getRun(version.run_id);
      const recommended = data.tags.find(({ key }) => key === "pare.trial_id")?.value;
      assert.equal(recommended, first["s1"]!.tags["pare.recommended"]);
      const { experiment_id } = (await client.findExperiment("pare"))!;
      const [model] = await client.findLoggedModels(experiment_id, "");
      const weights = await client.getJson(
        model!.info.artifact_uri,
        "checkpoint/model.safetensors",
      );
      assert.equal(
        weights,
        Object.values(first).find(ofTrial(recommended!))!.tags["pare.artifact_id"],
      );
    });

    await t.step("of other trials those on the front have their checkpoint in their run", () => {
      const holders = Object.values(first).filter(({ files }) =>
        files.includes("checkpoint/model.safetensors")
      );
      // Nothing beats the three; the first is recommended.
      assert.deepEqual(holders.map(({ tags }) => tags["pare.trial_id"]).sort(), [
        "s1/t02",
        "s1/t03",
      ]);
      const last = new Map(
        records.flatMap((record) =>
          record.type === "artifact_written" ? [[record.trial_id, record.artifact] as const] : []
        ),
      );
      for (const [trial_id, { artifact_id, location }] of last) {
        const { tags } = Object.values(first).find(ofTrial(trial_id))!;
        assert.equal(tags["pare.artifact_id"], artifact_id);
        assert.equal(tags["pare.artifact_location"], location);
      }
    });

    await t.step(
      "without its places everything is sent again, and nothing is doubled",
      async () => {
        await Deno.remove(join(root, "runs", "s1", "mlflow.json"));
        const again = mirrorTo(server.uri, root);
        again.follow("s1", null);
        await again.pass({ s1: end });
        assert.deepEqual(await runsOf(server.uri, "s1"), first);
        assert.equal((await client.modelVersions("pare-small-words")).length, 1);
      },
    );

    await t.step(
      "through 429, 500, lost answers, cuts and a hang: complete, nothing doubled",
      async () => {
        const kinds: Trouble[] = ["busy", "lost answer", "none", "none", "broken", "none", "none"];
        const proxy = troubledProxy(
          server.uri,
          (count) => count === 12 ? "hangs" : count % 23 === 0 ? "cut" : kinds[count % 7]!,
        );
        const mirror = mirrorTo(proxy.uri.replace("://", "://ann:hunter22@"), root, {
          experiment: "troubled",
          patience: { timeout_ms: 3_000, retries: 2, backoff_ms: 10, longest_pause_ms: 100 },
        });
        mirror.follow("s1", null);
        const tries = await passUntilDone(mirror, end);
        await proxy.stop();
        assert.ok(tries > 2, `${tries} passes: no trouble was met`);
        assert.deepEqual(await runsOf(server.uri, "s1", "troubled"), first);
        assert.ok(proxy.headers.every((header) => header === `Basic ${btoa("ann:hunter22")}`));
        for await (const { name, isFile } of Deno.readDir(root)) {
          if (!isFile || name.endsWith(".duckdb")) continue;
          assert.doesNotMatch(await Deno.readTextFile(join(root, name)), /hunter22/, name);
        }
      },
    );

    await t.step("beside a study: a dead server slows nothing; later it is complete", async () => {
      const dead = troubledProxy(server.uri, () => "none");
      const { uri } = dead;
      await dead.stop();
      const live = join(directory, "live");
      const options = {
        ...{ root: live, reports: join(live, "reports"), variables: {}, experiment: "live" },
        checkpoints: "front",
        max_file_bytes: 1e6,
      } as const;
      await using opened = await openStore(live, { write: true });
      const away = startMirror({ ...options, uri });
      const store = await away.attach(opened, { study_id: "s1", isNew: true });
      for (const record of records) await store.record(record);
      const behind = await away.finish(20_000);
      assert.equal(behind.behind, true);
      assert.match(behind.trouble!, /Cannot reach the MLflow server for .*http:\/\/127/);
      await away.stop();

      const there = startMirror({ ...options, uri: server.uri });
      await there.attach(opened, { study_id: "s1", isNew: false });
      const { behind: late, trouble, said: told } = await there.finish(60_000);
      await there.stop();
      assert.deepEqual([late, trouble, told], [false, null, 1]);
      const mirrored = await runsOf(server.uri, "s1", "live");
      assert.deepEqual(mirrored, first);
    });

    await t.step("runs come back from the server with their histories", async () => {
      const back = await Array.fromAsync(serverRuns(client, "troubled"));
      assert.deepEqual(back.map(({ name }) => name).sort(), Object.keys(first).sort());
      const study = back.find(({ name }) => name === "s1")!;
      const series = study.series.find(({ metric }) => metric === "hypervolume")!;
      const sent = first["s1"]!.points["hypervolume"]!.map((point) => point.split(" "));
      assert.deepEqual(series.steps, sent.map(([, step]) => Number(step)));
      assert.deepEqual(series.values, sent.map(([, , value]) => Number(value)));
      assert.equal(study.tags["dataset.words"], "version 1");
      const trial = back.find(({ name }) => name === "t01 octet")!;
      assert.deepEqual([trial.parent_id, trial.state], [study.source_id, "completed"]);
      await assert.rejects(
        Array.fromAsync(serverRuns(client, "trubled")),
        /Unknown experiment "trubled"\. Did you mean "troubled"\?/,
      );
    });

    await t.step(
      "points that are logged become a metric's history, true but for infinities",
      async () => {
        const logged = join(directory, "logged");
        await using store = await openStore(logged, { write: true });
        const trial = store.openRun({ study_id: "own", trial_id: "own/a" });
        const values = Float64Array.from({ length: 2_500 }, (_, i) => i === 3 ? NaN : 1 / (i + 1));
        await trial.logBatch({ loss: values }, { step: 0, happened_at: 1_700_000_000_000 });
        await trial.log({ "a:b/../c": 1 }, { step: 1, happened_at: 1_700_000_000_000 });
        const mirror = mirrorTo(server.uri, logged);
        mirror.follow("own", null);
        await mirror.pass({ own: store.endOf("own") });
        const { points } = (await runsOf(server.uri, "own"))["a"]!;
        assert.equal(points["loss"]!.length, 2_500);
        assert.ok(points["loss"]!.includes("1700000000000 3 NaN"));
        assert.ok(points["loss"]!.includes(`1700000000000 2499 ${1 / 2_500}`));
        assert.equal(points["a_b/_/c"]!.length, 1);
      },
    );
  } finally {
    await server.stop();
    await Deno.remove(directory, { recursive: true });
  }
});
