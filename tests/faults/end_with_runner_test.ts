import assert from "node:assert/strict";
import { join } from "node:path";
import { isAlive } from "../../python-backends/process_owner.ts";
import { startScript } from "../fixtures/programs.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { until } from "./processes/family.ts";

const OWN = JSON.stringify(join(import.meta.dirname!, "end_with_runner.ts"));

/** Starts what has a session of its own, as a cluster's parts have, and waits. */
const RUNNER = `import { endWithRunner } from ${OWN};
  endWithRunner();
  new Deno.Command("setsid", {
    args: ["sh", "-c", "echo $$; exec sleep 1000"], stdout: "inherit",
  }).spawn();
  setInterval(() => {}, 1000);`;

for (const signal of ["SIGKILL", "SIGTERM", "SIGINT"] as const) {
  Deno.test(`what a runner of faults started ends with it by ${signal}, in whatever session`, async () => {
    const runner = await startScript(temporaryFolder("end-with-runner"), RUNNER);
    const pid = Number(await runner.line());
    assert.ok(isAlive({ pid, start: "" }));
    runner.signal(signal);
    await runner.exited;
    await until("it has ended, too", () => !isAlive({ pid, start: "" }));
  });
}
