/** A disk that is nearly full, really: a small one, on which somebody else writes. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import { collectRoom } from "../../../tracker/jobs/queue/disk_room.ts";
import { attemptPaths } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { watchDisk } from "../../../tracker/jobs/queue/watch_disk.ts";
import { attemptFolder } from "../../../tracker/store/queue/queue_paths.ts";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import { mountDisk, unlessMountable } from "../../fixtures/small_disk.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { until } from "../../python-backends/scripted_worker.ts";
import { queueWorld } from "./queue_world.ts";

const MB = 1_000_000;

Deno.test("room is made of what may go alone, and of no more than is wanted", () =>
  inDirectory(async (root) => {
    const home = findHome({ PARE_HOME: root });
    const work = async (name: string) => {
      using artifacts = await openArtifactStore(home.artifacts);
      const { directory, release } = await artifacts.workFolder(sha256Text(name));
      await Deno.writeFile(join(directory, "state"), new Uint8Array(1000));
      await release({ keep: true });
      return directory;
    };
    const folders = [await work("first"), await work("second")];
    using artifacts = await openArtifactStore(home.artifacts);
    const made = await artifacts.begin();
    await Deno.writeFile(join(made, "model.safetensors"), new Uint8Array(1000));
    const { artifact_id } = await artifacts.commit(made, {
      ...{ action_key: sha256Text("a"), parent_id: null, action: null, formula_bytes: null },
      ...{ weight_bits: 4, activation_bits: null, verification: null, created_at: "2026-01-01" },
    });
    assert.equal(await collectRoom(home, 1), 1000);
    assert.equal(folders.filter((one) => existsSync(one)).length, 1);
    assert.equal(await collectRoom(home, 1e9), 1000);
    assert.ok(await artifacts.get(artifact_id) !== null, "it is in use, and of no known store");
    assert.equal(await collectRoom(home, 1e9), 0);
  }));

Deno.test("nothing is removed while a job runs on another machine: it is saved at once", () =>
  inDirectory(async (root) => {
    const { submit, disk, paths, job } = await queueWorld(root);
    const far = await submit(2);
    const key = { at: new Date().toISOString(), job_id: far, attempt: 1 };
    const { slots } = job(far);
    const queue = await disk.transact(() => [
      {
        ...{ type: "attempt_planned", ...key, engine: "slurm", machine: "a", slots },
        ...{ passes: [], reason: "its turn" },
      },
      { type: "attempt_began", ...key },
    ]);
    const { lease } = attemptPaths(attemptFolder(paths, far, 1));
    writeWhole(lease, { pid: 1, start: "", host: "there", machine: "another", token: "t" });
    const collect = () => Promise.reject(new Error("it was collected"));
    assert.deepEqual(await watchDisk(paths, queue, { collect, least_bytes: 0 }), []);
    const [acted, saved, ...more] = await watchDisk(paths, queue, { collect, least_bytes: 1e18 });
    assert.deepEqual(more, []);
    assert.ok(acted?.type === "acted" && acted.remedy === "paused");
    assert.match(acted.evidence, /nothing is removed while jobs run on other machines/);
    assert.ok(saved?.type === "save_asked");
  }));

Deno.test({
  name:
    "a disk that fills is cleared first; what runs is saved where that is not enough, and waits",
  ignore: await unlessMountable(),
  async fn() {
    await using small = await mountDisk("1300m");
    const write = (name: string, bytes: number) =>
      Deno.writeFile(join(small.path, name), new Uint8Array(bytes));
    await write("cache", 150 * MB);
    const wanted: number[] = [];
    const collect = async (bytes: number) => {
      wanted.push(bytes);
      const cache = join(small.path, "cache");
      if (!existsSync(cache)) return 0;
      await Deno.remove(cache);
      return 150 * MB;
    };
    const { submit, drive, job, disk } = await queueWorld(small.path);
    const slow = await submit(2);
    await drive(async () => {
      await until("it runs", () => job(slow).state === "running", 30_000);
      await write("others", 300 * MB);
      await until("room is made", () => job(slow).actions.length === 1, 30_000);
      assert.equal(job(slow).state, "running", "that was enough");
      await write("more", 150 * MB);
      await until("it waits", () => job(slow).missing !== null, 60_000);
    }, { watch: { room: { collect } } });
    assert.deepEqual(
      job(slow).actions.slice(0, 2).map((
        { condition, remedy, attempt },
      ) => [condition, remedy, attempt]),
      [["disk nearly full", "collected", 1], ["disk nearly full", "paused", 1]],
    );
    assert.match(
      job(slow).actions[0]!.evidence,
      /^0\.\d\d GB free for .*; 0\.15 GB were removed .*: 1\.\d\d GB/,
    );
    assert.deepEqual(job(slow).attempts.map(({ how }) => how).slice(0, 2), ["saved", "withdrawn"]);
    assert.match(job(slow).missing!, /^disk nearly full: /);
    assert.ok(wanted[0]! > 0 && wanted[0]! < 300 * MB, String(wanted));
    await Deno.remove(join(small.path, "more"));
    const at = new Date().toISOString();
    await disk.transact(() => [{ type: "released", at, job_id: slow }]);
    await drive();
    assert.equal(job(slow).state, "done", job(slow).reason);
  },
});
