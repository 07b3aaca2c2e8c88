import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ChildState,
  readChild,
  startChildIn,
} from "../../python-backends/child/child_folder.ts";
import { logTail } from "../../python-backends/child/log_tail.ts";
import type { Child } from "../../python-backends/child/start_child.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { denoWords, startProgram, startScript } from "../fixtures/programs.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { isAlive, plainPython, until } from "./scripted_worker.ts";

const PROGRAM = join(import.meta.dirname!, "child_program.ts");
const PARENT = join(import.meta.dirname!, "child_parent.ts");

function start(folder: string, kind: string, env: Record<string, string> = {}): Child {
  const argv = denoWords(PROGRAM, folder, kind);
  return startChildIn(folder, { argv, request: { epochs: 3 }, env });
}

function isRunning(folder: string): boolean {
  return readChild(folder).state === "running" && existsSync(join(folder, "below"));
}

/** What it started lives in its group. */
function below(folder: string): number {
  return Number(readFileSync(join(folder, "below"), "utf8"));
}

Deno.test("a child that answers has ended with its result, and what it said is in its log", async () => {
  const folder = join(temporaryFolder("child"), "one");
  assert.deepEqual(readChild(folder), { state: "not begun" });
  assert.deepEqual(await start(folder, "answers").exited, { code: 0, signal: null });
  const result = { ok: true, value: { epochs: 3 } };
  assert.deepEqual(readChild(folder), { state: "ended", result });
  assert.equal(readFileSync(join(folder, "log"), "utf8"), "begun\nof no use\n");
});

Deno.test("a child that is killed has died, and with it what it started", async () => {
  const folder = temporaryFolder("child");
  const child = start(folder, "waits");
  await until("it runs", () => isRunning(folder));
  const running = readChild(folder);
  assert.equal(running.state === "running" && running.owner.pid, child.pid);
  Deno.kill(child.pid, "SIGKILL");
  await child.exited;
  await until("what it started is gone", () => !isAlive(below(folder)));
  const exit = { code: null, signal: "SIGKILL" };
  assert.deepEqual(readChild(folder), { state: "died", exit, last_words: "begun\nof no use" });
});

Deno.test("a child that ends without a result has died, with its exit code", async () => {
  const folder = temporaryFolder("child");
  await start(folder, "quits").exited;
  const { state, exit } = readChild(folder) as Extract<ChildState, { state: "died" }>;
  assert.deepEqual([state, exit], ["died", { code: 7, signal: null }]);
});

Deno.test("a child that heeds a signal has the exit code that it chose", async () => {
  const folder = temporaryFolder("child");
  const child = start(folder, "heeds");
  await until("it is ready", () => logTail(join(folder, "log")).endsWith("ready"));
  child.signal("SIGINT");
  assert.deepEqual(await child.exited, { code: 3, signal: null });
});

Deno.test("a program that is not there has died, and the reason is kept", async () => {
  const folder = temporaryFolder("child");
  const child = startChildIn(folder, { argv: ["/no/such/program"], request: null });
  const { not_started } = await child.exited;
  assert.match(not_started ?? "", /\/no\/such\/program.*ENOENT/);
  const state = readChild(folder);
  assert.equal(state.state === "died" && state.exit?.not_started, not_started);
});

Deno.test("a second start in a folder ends at once and changes nothing, beside the first and after it", async () => {
  const folder = temporaryFolder("child");
  const first = start(folder, "waits");
  await until("it runs", () => isRunning(folder));
  const second = startProgram(denoWords(PROGRAM, folder, "answers"));
  assert.equal((await second.exited).code, 75);
  assert.throws(() => start(folder, "answers"), /Cannot start a child in .* as one is running/);
  assert.equal(readChild(folder).state, "running");
  await first.end();
  const other = temporaryFolder("child");
  await start(other, "answers").exited;
  const before = readFileSync(join(other, "result.json"), "utf8");
  assert.equal((await startProgram(denoWords(PROGRAM, other, "quits")).exited).code, 75);
  assert.throws(() => start(other, "answers"), /as one has ended there: give it another folder/);
  assert.equal(readFileSync(join(other, "result.json"), "utf8"), before);
});

Deno.test("no variable of a child's environment lands in its files", async () => {
  const folder = temporaryFolder("child");
  await start(folder, "answers", { SOME_TOKEN: "do-not-keep-me" }).exited;
  const files = readdirSync(folder);
  assert.ok(files.includes("request.json") && files.includes("alive"), files.join());
  for (const name of files) {
    assert.doesNotMatch(readFileSync(join(folder, name), "utf8"), /do-not-keep-me|SOME_TOKEN/);
  }
});

Deno.test("end() is in good order first, then by force", async () => {
  const folder = temporaryFolder("child");
  const child = start(folder, "waits");
  await until("it runs", () => isRunning(folder));
  await child.end();
  assert.deepEqual(await child.exited, { code: null, signal: "SIGTERM" });
  assert.ok(!isAlive(below(folder)));
});

Deno.test("a child that heeds nothing goes with its parent, however that exits", async () => {
  const folder = temporaryFolder("child");
  const door = import.meta.resolve("../../python-backends/child/start_child.ts");
  const ends = ["Deno.exit(0)", "process.exit(0)"];
  for (const end of ends) {
    const parent = await startScript(
      folder,
      `import process from "node:process";
      import { startChild } from ${JSON.stringify(door)};
      console.log(startChild({ argv: ["sleep", "300"] }).pid);
      setTimeout(() => { ${end}; }, 100);`,
    );
    const pid = Number(await parent.line());
    assert.ok(isAlive(pid), end);
    await parent.exited;
    await until(`it is gone after ${end}`, () => !isAlive(pid));
  }
});

Deno.test("any module of Python's goes with its parent where pare_backends.supervised runs it", async () => {
  const door = import.meta.resolve("../../python-backends/child/start_child.ts");
  const argv = [await plainPython(), "-m", "pare_backends.supervised", "http.server", "0"];
  const parent = await startScript(
    temporaryFolder("child"),
    `import { startChild } from ${JSON.stringify(door)};
    const env = { PYTHONPATH: ${JSON.stringify(PYTHON_ROOT)}, PYTHONUNBUFFERED: "1" };
    const child = startChild({ argv: ${JSON.stringify(argv)}, env });
    child.output.once("data", (said) => console.log(child.pid, String(said)));
    setTimeout(() => {}, 300_000);`,
  );
  const said = await parent.line();
  assert.match(said ?? "", /^\d+ Serving HTTP/);
  const pid = parseInt(said!);
  assert.ok(isAlive(pid));
  await parent.kill();
  await until("it is gone", () => !isAlive(pid));
});

/** Starts a parent with a child in a folder, and kills the parent with SIGKILL. */
async function orphan(
  folder: string,
  kind: string,
  moment: (started: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const parent = startProgram(denoWords(PARENT, folder, ...denoWords(PROGRAM, folder, kind)));
  await moment(parent.line());
  await parent.kill();
}

/** Whether any process has the folder among its words. */
function hasProcess(folder: string): boolean {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
    } catch {
      return false; // ended meanwhile
    }
  });
}

Deno.test("a child whose parent is killed ends in good order and says so", async () => {
  const folder = temporaryFolder("orphan");
  await orphan(folder, "waits", () => until("it runs", () => isRunning(folder)));
  await until("it ended", () => readChild(folder).state === "ended");
  const result = { ok: false, reason: "its parent is gone" };
  assert.deepEqual(readChild(folder), { state: "ended", result });
  await until("what it started is gone", () => !isAlive(below(folder)));
});

Deno.test("one that does not end then is killed with all that it started", async () => {
  const folder = temporaryFolder("orphan");
  await orphan(folder, "hangs", () => until("it runs", () => isRunning(folder)));
  const pid = below(folder);
  assert.ok(isAlive(pid));
  await until("it is gone", () => !isAlive(pid) && readChild(folder).state === "died");
  assert.deepEqual((readChild(folder) as { exit: unknown }).exit, null, "nobody saw it end");
});

Deno.test("a parent killed at any moment leaves no child, and files that say how it stood", async () => {
  const seen = new Set<string>();
  for (let n = 0; n < 12; n++) {
    const folder = join(temporaryFolder("orphan"), "one");
    // From before the parent has asked for a child to after that has begun.
    await orphan(folder, "waits", async (started) => {
      if (n > 2) await started;
      await new Promise((resolve) => setTimeout(resolve, 40 * (n % 9)));
    });
    await until("no process is left", () => !hasProcess(folder));
    const { state } = readChild(folder);
    seen.add(state);
    assert.ok(state === "not begun" || state === "ended", `${state} at moment ${n}`);
    if (existsSync(join(folder, "below"))) {
      await until("what it started is gone", () => !isAlive(below(folder)));
    }
  }
  assert.ok(seen.size > 1, `every kill fell on one side: ${[...seen]}`);
});
