/** What is of the local engine alone: its cards, its driver's death, a disk that is full. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { attemptPaths, readResult } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { seenAttempt } from "../../../tracker/jobs/attempt/attempt_state.ts";
import { LEASE_MS, readLease, watchLeases } from "../../../tracker/jobs/attempt/lease.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { startScript } from "../../fixtures/programs.ts";
import { playedCards } from "../../fixtures/played_cards.ts";
import { fill, mountDisk, unlessMountable } from "../../fixtures/small_disk.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { attemptOf, driving } from "./engine_cases.ts";

const devices = { slots: { cpu: 2, gpu: 2, memory_gb: 4 }, cards: ["0", "3"], machine: "made-up" };
const detached = { sanitizeOps: false, sanitizeResources: false };

function world(root = temporaryFolder("local-driver")) {
  return {
    root,
    open: () => new LocalEngine(join(root, "books"), devices),
    ...{ patience_ms: 60_000, log_bytes: 0, queue_runs: 0, queued: 0 },
  };
}

Deno.test({
  name: "each card is given to one job at a time, and none to a job that asks for none",
  ...detached,
  async fn() {
    const here = world();
    const { engine, said, end } = driving(here);
    const line = 'echo "cards $CUDA_VISIBLE_DEVICES."; while ! test -e go; do sleep 0.1; done';
    const submit = (gpu: number) => {
      const slots = { cpu: 0.5, gpu, memory_gb: 1 };
      const attempt = attemptOf(here, line.replace("go", join(here.root, "go")), { slots });
      return engine.submit(attempt);
    };
    const [one, two, none] = [await submit(1), await submit(1), await submit(0)];
    const third = await submit(1);
    const logs = await Promise.all([one, two, none].map((handle) => said(handle, "cards")));
    assert.deepEqual(logs.map((log) => log.trim()).sort(), ["cards .", "cards 0.", "cards 3."]);
    const state = (await engine.states([third])).get(third);
    assert.deepEqual(state, { state: "queued", reason: "it needs 1 card, of 0 that are free" });
    assert.deepEqual((await engine.capacity()).free, { cpu: 0.5, gpu: 0, memory_gb: 1 });
    writeFileSync(join(here.root, "go"), "");
    for (const handle of [one, two, none, third]) await end(handle);
    assert.match(await said(third, "cards"), /cards [03]\./);
  },
});

Deno.test({
  name: "a job whose card is lost is to go on at another one, and that card is given to nobody",
  ...detached,
  async fn() {
    const here = world();
    await playedCards(here.root);
    const { engine, said, end } = driving(here);
    const gone = join(here.root, "lost");
    const line =
      `echo "card $CUDA_VISIBLE_DEVICES."; [ "$CUDA_VISIBLE_DEVICES" = 3 ] || { touch ${gone}-0; exit 1; }`;
    const slots = { cpu: 0.5, gpu: 1, memory_gb: null };
    const submit = () => engine.submit(attemptOf(here, line, { slots }));
    const first = await submit();
    await end(first);
    const { result } = seenAttempt(first, watchLeases());
    const { how, passing, reason } = result!;
    assert.deepEqual([how, passing], ["failed", true], "it is tried again");
    assert.match(reason, /^card 0 does not answer any more; exit code 1: card 0\.$/);
    assert.equal((await engine.capacity()).total.gpu, 1);
    const second = await submit();
    assert.equal((await end(second))?.code, 0);
    assert.match(await said(second, "card"), /card 3\./);
    // Another driver, which saw nothing of it: its job does not begin there.
    const other = driving(here, here.open());
    const third = await other.engine.submit(attemptOf(here, line, { slots }));
    assert.equal((await other.end(third))?.not_started, "card 0 does not answer any more");
    assert.equal(seenAttempt(third, watchLeases()).result?.passing, true);
    assert.equal((await other.engine.capacity()).total.gpu, 1);
  },
});

Deno.test({
  name: "a driver that is killed at any moment leaves each attempt run once, or not begun",
  ...detached,
  async fn() {
    const door = import.meta.resolve("../../../tracker/jobs/engines/local/local_engine.ts");
    const seen = new Set<string>();
    for (let n = 0; n < 8; n++) {
      const here = world();
      const runs = join(here.root, "runs");
      const attempt = attemptOf(here, `echo began >> ${runs}; sleep 0.5`);
      const driver = await startScript(
        here.root,
        `import { LocalEngine } from ${JSON.stringify(door)};
        const engine = new LocalEngine(${JSON.stringify(join(here.root, "books"))}, ${
          JSON.stringify(devices)
        });
        const submitting = engine.submit(${JSON.stringify(attempt)});
        console.log("submitting");
        await submitting;
        setTimeout(() => {}, 300_000);`,
      );
      await driver.line();
      await delay(n * n * 6); // from within the submission to a program that runs
      await driver.kill();
      const { engine, end, stateOf } = driving(here);
      const { state } = await stateOf(attempt.folder);
      seen.add(state);
      await engine.submit(attempt); // as the next driver does with one that it knows no end of
      assert.equal((await end(attempt.folder))?.how, "done");
      assert.equal(readFileSync(runs, "utf8"), "began\n", `killed at moment ${n}, found ${state}`);
    }
    assert.ok(seen.size > 1, `every kill fell on one side: ${[...seen]}`);
  },
});

Deno.test({
  name: "a full disk delays a result and loses none",
  ignore: await unlessMountable(),
  ...detached,
  async fn() {
    await using disk = await mountDisk("1m");
    const here = { ...world(), root: disk.path };
    const { engine, said, end } = driving({ ...here, open: world().open });
    const go = join(temporaryFolder("go"), "go");
    const attempt = attemptOf(here, `echo ready; while ! test -e ${go}; do sleep 0.1; done`);
    const handle = await engine.submit(attempt);
    await said(handle, "ready");
    const filler = fill(disk.path);
    writeFileSync(go, "");
    await delay(2500);
    assert.equal(existsSync(attemptPaths(handle).result), false);
    assert.equal((await engine.states([handle])).get(handle)!.state, "running");
    rmSync(filler);
    assert.equal((await end(handle))?.code, 0);
    await assert.rejects(
      async () => {
        fill(disk.path);
        await engine.submit(attemptOf(here, "exit 0"));
      },
      /ENOSPC|No space/i,
    );
  },
});

Deno.test("a lease of another machine is stale once it did not change for a minute, whatever its clock says", () => {
  const folder = temporaryFolder("lease");
  const { lease } = attemptPaths(folder);
  writeFileSync(lease, JSON.stringify({ pid: 1, start: "1", token: "t", machine: "elsewhere" }));
  let now = 0;
  const leases = watchLeases(() => now);
  for (const hours of [-1, 1]) {
    const renewed = Date.now() + 3_600_000 * hours;
    Deno.utimeSync(lease, new Date(renewed), new Date(renewed));
    assert.equal(leases(folder), "fresh", `${hours} h`);
    now += LEASE_MS - 1;
    assert.equal(leases(folder), "fresh", "it may be renewed yet");
    now += 1;
    assert.equal(leases(folder), "stale");
  }
  Deno.utimeSync(lease, new Date(), new Date());
  assert.equal(leases(folder), "fresh", "it was renewed");
  assert.equal(readLease(folder)!.token, "t");
  assert.equal(readResult(folder), null);
});
