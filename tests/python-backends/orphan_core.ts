/** A core that waits for a busy worker with a child, or for a fork of a nursery: the test kills it.
 * Arguments: where the pids of both are written, and "nursery" for the second. */
import { startNursery } from "../../python-backends/worker/nursery.ts";
import { workerVariables } from "../../python-backends/client.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { plainPython, runScripted } from "./scripted_worker.ts";

const [path, kind] = Deno.args;

if (kind === "nursery") {
  const nursery = startNursery({
    python: await plainPython(), // without torch, which is then not imported
    cwd: PYTHON_ROOT,
    env: workerVariables(1, {}),
    log_path: `${path}.log`,
  });
  const worker = (await nursery.fork(`${path}.worker.log`, "torch"))!;
  const parent = /^PPid:\s+(\d+)/m.exec(Deno.readTextFileSync(`/proc/${worker.pid}/status`))![1];
  Deno.writeTextFileSync(`${path}.part`, `${worker.pid} ${parent}`);
  Deno.renameSync(`${path}.part`, path!);
  await worker.exited;
} else {
  const file = JSON.stringify(path);
  await runScripted(
    `child = subprocess.Popen(["sleep", "300"])
with open(${file} + ".part", "w") as f:
    f.write(f"{os.getpid()} {child.pid}")
os.rename(${file} + ".part", ${file})
while True:
    sum(range(1000))`,
  );
}
