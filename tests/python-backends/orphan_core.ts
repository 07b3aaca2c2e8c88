/** A core that waits for a busy worker with a child: the test kills it. Argument: where the pids
 * of both are written. */
import { runScripted } from "./scripted_worker.ts";

const file = JSON.stringify(Deno.args[0]);
await runScripted(
  `child = subprocess.Popen(["sleep", "300"])
with open(${file} + ".part", "w") as f:
    f.write(f"{os.getpid()} {child.pid}")
os.rename(${file} + ".part", ${file})
while True:
    sum(range(1000))`,
);
