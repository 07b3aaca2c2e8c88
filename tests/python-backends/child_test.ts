import assert from "node:assert/strict";
import { startChild } from "../../python-backends/child/start_child.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { startScript } from "../fixtures/programs.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { isAlive, plainPython, until } from "./scripted_worker.ts";

Deno.test("a program that is not there has an exit that says why", async () => {
  const { not_started } = await startChild({ argv: ["/no/such/program"] }).exited;
  assert.match(not_started ?? "", /\/no\/such\/program.*ENOENT/);
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
