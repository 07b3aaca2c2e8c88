import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { resolveAction } from "../../../core/mod.ts";
import { type BackendClient, createBackendClient } from "../../../python-backends/client.ts";
import { pinsHash } from "../../../python-backends/environments/environment_pins.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { applyAction } from "../../../tracker/lab/runner/apply_action.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { bareStudy, quietRunner } from "../../fixtures/bare_study.ts";
import { fill, mountDisk, unlessMountable } from "../../fixtures/small_disk.ts";
import { shareDefaultEnvironment } from "../../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { adoptTinyModel, trainedTinyModel } from "../../tiny_model.ts";
import { smallFacts } from "../../core/spec_fixtures.ts";
import { runPare } from "../../fixtures/programs.ts";

const ignore = await unlessMountable();

const artifactsIn = (folder: string) =>
  readdirSync(folder).filter((name) => /^[0-9a-f]{16}$/.test(name));

/** Everything that an action needs, with the artifacts on `disk`. */
async function prepare(client: BackendClient, disk: string, before: (call: string) => void) {
  const folder = temporaryFolder("full-disk");
  const home = { ...findHome({ PARE_HOME: folder }), artifacts: disk };
  const registry = await discoverPlugins();
  const store = await openStore(join(folder, "store"), {
    write: true,
  });
  const artifacts = await openArtifactStore(disk);
  const timestamp = () => new Date().toISOString();
  const ran: string[] = [];
  const real = quietRunner(client, "study", store);
  const runner: CallRunner = (trial, request, environment) => {
    ran.push(request.call);
    before(request.call);
    return real(trial, request, environment);
  };
  const parent = await adoptTinyModel(artifacts, client);
  const action = resolveAction(
    {
      agent: "quantization",
      method: "rtn",
      params: { bits: 8, group_size: 32, targets: "embedding" },
    },
    registry.methods,
    smallFacts(),
  );
  const workshop = {
    home,
    registry,
    client,
    artifacts,
    caches: openFolderCache(join(folder, "cache")),
    store,
    environmentHash: (name: string) => Promise.resolve(pinsHash(name)),
    timestamp,
    maxDiskBytes: null,
  };
  const study = bareStudy();
  const apply = () =>
    applyAction({
      ...{ workshop, study, runner, trial_id: "study/t01" },
      ...{ parent, original: parent, student: null, action, action_index: 0 },
    });
  return { apply, artifacts, ran, store };
}

Deno.test({
  name:
    "an artifact that finds the disk full fails under that name and leaves nothing half-written",
  ignore,
  async fn(t) {
    await shareDefaultEnvironment();
    const client = createBackendClient({ home: temporaryFolder("full-disk") });
    try {
      await t.step("where too little is free beforehand, before any work", async () => {
        await using disk = await mountDisk("20m");
        const { apply, ran, store } = await prepare(client, disk.path, () => {});
        const outcome = await apply();
        assert.ok(!outcome.ok);
        assert.equal(outcome.failure.kind, "disk_full");
        assert.match(
          outcome.failure.message,
          /as \d+(\.\d+)? [kM]?B, and 100(\.0)? MB for what .*, may be needed in .*: \d+\.\d MB are free/,
        );
        assert.deepEqual(ran, []);
        await store.close();
      });
      await t.step(
        "where it fills while the artifact is made; room again, and it is made",
        async () => {
          await using disk = await mountDisk("110m");
          let filler = "";
          const { apply, artifacts, ran, store } = await prepare(client, disk.path, (call) => {
            if (call === "apply" && filler === "") filler = fill(disk.path);
          });
          const before = artifactsIn(disk.path);
          const full = await apply();
          assert.ok(!full.ok);
          assert.equal(full.failure.kind, "disk_full", JSON.stringify(full.failure));
          assert.match(full.failure.message, /no space left/i);
          assert.deepEqual(ran, ["apply"]);
          assert.deepEqual(artifactsIn(disk.path), before);
          assert.deepEqual(readdirSync(join(disk.path, ".temporary")), []);
          await rm(filler);
          const made = await apply();
          assert.ok(made.ok, JSON.stringify(made));
          assert.deepEqual(await artifacts.verifyChecksums(made.value.artifact), []);
          assert.equal(
            made.value.cached,
            false,
            "nothing of the first attempt was taken for whole",
          );
          await store.close();
        },
      );
    } finally {
      await client.close();
    }
  },
});

async function refusal(
  home: string,
  model: string,
): Promise<{ code: number | undefined; said: string }> {
  const words = ["run", "--yes", "--model", model, "--dataset", "tiny"];
  const run = await runPare(words, { HF_HUB_OFFLINE: "1", PARE_HOME: home });
  assert.doesNotMatch(run.stderr, /^\s+at /m, run.stderr);
  const said = run.stderr.split("\n").filter((line) => line.startsWith("pare: "));
  assert.equal(said.length, 1, run.stderr);
  return { code: run.exitCode, said: said[0]! };
}

Deno.test({
  name: "a home on a full disk is told in one sentence: the whole of it, or its artifacts alone",
  ignore,
  async fn() {
    await shareDefaultEnvironment();
    const client = createBackendClient({ home: temporaryFolder("full-home") });
    const model = await trainedTinyModel(client).finally(() => client.close());
    {
      await using disk = await mountDisk("1m");
      const home = join(disk.path, "home");
      await mkdir(home);
      fill(disk.path);
      const { code, said } = await refusal(home, model);
      assert.equal(code, 2);
      assert.match(said, /disk is full.*; free some space/);
      assert.ok(!existsSync(join(home, "store", "runs")));
    }
    await using disk = await mountDisk("1m");
    const home = temporaryFolder("full-artifacts");
    await Deno.symlink(disk.path, join(home, "artifacts"));
    fill(disk.path);
    const { code, said } = await refusal(home, model);
    assert.equal(code, 2);
    assert.match(said, /Cannot go on as the disk is full \(No space left.*PARE_HOME/);
    assert.ok(!existsSync(join(home, "store")), "a refusal leaves no store behind");
    assert.deepEqual(
      artifactsIn(disk.path).filter((id) => existsSync(join(disk.path, id, "manifest.json"))),
      [],
    );
  },
});
