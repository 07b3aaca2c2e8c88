import assert from "node:assert/strict";
import { isAlive, until } from "../python-backends/scripted_worker.ts";
import { inGroup } from "./in_group.ts";

const run = (program: string, seconds = 60) =>
  inGroup([Deno.execPath(), "eval", program], { cwd: ".", env: { NO_COLOR: "1" }, seconds });

/** Prints the number of a process that it leaves, which holds what it was given to print to. */
const LEAVES = `
  const sleep = { args: ["600"], stdin: "null", stdout: "inherit", stderr: "inherit" };
  console.log(new Deno.Command("sleep", sleep).spawn().pid);
`;

Deno.test("inGroup() waits for nothing that its program left behind, and ends it", async () => {
  const { output, failed, late } = await run(`${LEAVES} console.error("told"); Deno.exit(0);`);
  assert.match(output, /^\d+\ntold\n$/);
  assert.deepEqual([failed, late], [false, false]);
  await until("what it left is gone", () => !isAlive(parseInt(output)));
});

Deno.test("inGroup() ends a program that hangs, with its group, and keeps what it printed", async () => {
  const { output, failed, late } = await run(`${LEAVES} setInterval(() => {}, 1000);`, 2);
  assert.deepEqual([failed, late], [true, true]);
  assert.ok(parseInt(output) > 0);
  await until("what it started is gone", () => !isAlive(parseInt(output)));
});

Deno.test("inGroup() says that a program failed, and why one could not be started", async () => {
  assert.equal((await run("Deno.exit(3)")).failed, true);
  const none = await inGroup(["no-such-program"], { cwd: ".", env: {}, seconds: 60 });
  assert.equal(none.failed, true);
  assert.match(none.output, /no-such-program/);
});
