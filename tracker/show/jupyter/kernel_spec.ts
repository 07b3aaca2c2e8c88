import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What Jupyter reads of a kernel: how it is started, and how an interrupt reaches it. */
export interface KernelSpec {
  readonly argv: readonly string[];
  readonly display_name: string;
  readonly language: string;
  readonly interrupt_mode: "signal";
}

/**
 * Starts its arguments with SIGINT ignored, in its own place: same process, no other in between. Deno's
 * kernel dies of SIGINT as long as no cell listens, and hangs for good when it is sent Jupyter's
 * `interrupt_request` (Deno 2.9.6). What is ignored at the start stays so until something listens, which
 * a study does while it runs.
 */
const IGNORING_INTERRUPTS = ["/bin/sh", "-c", `trap '' INT; exec "$@"`, "sh"];

/** The Deno kernel by this very deno; an interrupt never ends it. */
export function kernelSpec(
  deno: string = Deno.execPath(),
  windows: boolean = Deno.build.os === "windows",
): KernelSpec {
  const kernel = [deno, "jupyter", "--kernel", "--conn", "{connection_file}"];
  return {
    argv: windows ? kernel : [...IGNORING_INTERRUPTS, ...kernel],
    display_name: "Deno",
    language: "typescript",
    interrupt_mode: "signal",
  };
}

/**
 * Writes the spec below a folder that JUPYTER_PATH may name, under the name that notebooks ask for;
 * a Jupyter that reads it meanwhile sees the old one or the new one.
 */
export async function writeKernelSpec(folder: string, spec = kernelSpec()): Promise<void> {
  const kernel = join(folder, "kernels", "deno");
  await mkdir(kernel, { recursive: true });
  const part = join(kernel, `kernel.json.${crypto.randomUUID()}.part`);
  await writeFile(part, `${JSON.stringify(spec, null, 2)}\n`);
  await rename(part, join(kernel, "kernel.json"));
}
