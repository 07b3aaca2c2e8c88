/**
 * Tries every path of the backends on this machine's GPU, beside the same on the CPU:
 *
 *     npx -y deno task gpu [--model DIR --text FILE.jsonl] [--keep DIR]
 *
 * Without arguments it makes its model itself. It ends with 1 where something did not pass, with 2
 * where there is no GPU. Where only Python, PyTorch and transformers are there:
 * `python -m pare_backends.gpu_check` in python-backends/.
 */
import { execa } from "execa";
import process from "node:process";
import { ensureEnvironment } from "./environments/environments.ts";
import { PYTHON_ROOT } from "./home.ts";

if (import.meta.main) {
  const { python } = await ensureEnvironment("default");
  const ended = await execa(python, ["-m", "pare_backends.gpu_check", ...process.argv.slice(2)], {
    cwd: PYTHON_ROOT,
    reject: false,
    stdout: "inherit",
    stderr: "inherit",
  });
  process.exit(ended.exitCode ?? 1);
}
