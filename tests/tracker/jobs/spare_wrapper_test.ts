/** A wrapper that waits for the next job of this machine. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../../python-backends/process_owner.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { readLease } from "../../../tracker/jobs/attempt/lease.ts";
import { startScript } from "../../fixtures/programs.ts";
import { until } from "../../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { attemptOf, driving } from "./engine_cases.ts";

const devices = { slots: { cpu: 2, gpu: 2, memory_gb: 4 }, cards: ["0", "3"], machine: "made-up" };
const detached = { sanitizeOps: false, sanitizeResources: false };

/** Wrappers that wait, of the process `parent`. */
function waiting(parent = Deno.pid): number[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
      return words.includes("--waits") && stat[0] !== "Z" && stat[1] === String(parent);
    } catch {
      return false; // ended meanwhile
    }
  });
}

function world() {
  const root = temporaryFolder("spare-wrapper");
  const open = () => new LocalEngine(join(root, "books"), devices);
  return { root, open, patience_ms: 60_000, log_bytes: 0, queue_runs: 0, queued: 0 };
}

Deno.test({
  name:
    "a job goes to the wrapper that waits, with its variables and cards, and the next one to another",
  ...detached,
  async fn() {
    const here = world();
    using engine = here.open();
    const { said, end } = driving(here, engine);
    await engine.check(null);
    assert.deepEqual(waiting(), [], "who only asks whether it is there has none made");
    await engine.check(here.root);
    const [spare] = waiting();
    const slots = { cpu: 1, gpu: 1, memory_gb: null };
    const line = 'echo "$SECRET on $CUDA_VISIBLE_DEVICES."; exit 5';
    const attempt = attemptOf(here, line, { slots, env: { SECRET: "not-in-a-file" } });
    const handle = await engine.submit(attempt);
    assert.equal((await end(handle))?.code, 5);
    assert.match(await said(handle, "on"), /^not-in-a-file on 0\.$/m);
    assert.equal(readLease(handle)?.pid, spare);
    for (const file of ["attempt.json", "lease", "result.json"]) {
      assert.doesNotMatch(readFileSync(join(handle, file), "utf8"), /not-in-a-file/);
    }
    // One submitted before another spare one is made has a wrapper of its own.
    const next = await engine.submit(attemptOf(here, "exit 6"));
    assert.equal((await end(next))?.code, 6);
    await until("another one waits", () => waiting().length === 1, 30_000);
    assert.notEqual(waiting()[0], spare);
    engine[Symbol.dispose]();
    await until("it ends", () => waiting().length === 0, 30_000);
  },
});

Deno.test({
  name: "a wrapper that was told its folder and dies before the lease leaves a job that nobody has",
  ...detached,
  async fn() {
    const here = world();
    using engine = here.open();
    const { end } = driving(here, engine);
    await engine.check(here.root);
    const [spare] = waiting() as [number];
    Deno.kill(spare, "SIGSTOP");
    const attempt = attemptOf(here, "exit 7");
    const handle = await engine.submit(attempt);
    const state = async () => (await engine.states([handle])).get(handle)!.state;
    assert.equal(await state(), "queued");
    await new Promise((resolve) => setTimeout(resolve, 1200)); // longer than a line's writer may take
    assert.equal(await state(), "queued", "its wrapper lives and may begin");
    assert.equal((await engine.capacity()).free.cpu, 1);
    Deno.kill(spare, "SIGKILL");
    await until("nobody has it", async () => await state() === "unknown", 30_000);
    assert.equal((await engine.capacity()).free.cpu, 2);
    await engine.submit(attempt); // as a queue does
    assert.equal((await end(handle))?.code, 7);
  },
});

Deno.test({
  name: "a spare wrapper ends with the process that keeps it, by whatever death; a job goes on",
  ...detached,
  async fn() {
    const here = world();
    const door = import.meta.resolve("../../../tracker/jobs/engines/local/local_engine.ts");
    const attempt = attemptOf(here, "echo ready; sleep 4; exit 8");
    const driver = await startScript(
      here.root,
      `import { LocalEngine } from ${JSON.stringify(door)};
      const engine = new LocalEngine(${JSON.stringify(join(here.root, "books"))}, ${
        JSON.stringify(devices)
      });
      await engine.check("");
      await engine.submit(${JSON.stringify(attempt)});
      await engine.check("");
      console.log("submitted", Deno.pid);
      setTimeout(() => {}, 300_000);`,
    );
    const pid = Number((await driver.line())!.split(" ")[1]);
    const { said, end } = driving(here);
    await said(attempt.folder, "ready");
    const [spare] = waiting(pid) as [number];
    assert.ok(spare > 0);
    Deno.kill(pid, "SIGKILL");
    await until("it ends", () => !isAlive({ pid: spare, start: "" }), 30_000);
    assert.equal((await end(attempt.folder))?.code, 8);
  },
});
