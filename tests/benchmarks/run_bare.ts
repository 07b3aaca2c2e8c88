import { execa } from "execa";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import type { BareRequest, BareResult } from "./bare_request.ts";

const SCRIPT = fileURLToPath(new URL("./bare_study.py", import.meta.url));

/** The bare script's run: its own figures, and the seconds of its whole process. */
export interface BareRun {
  readonly result: BareResult;
  readonly seconds: number;
  readonly load: number;
}

/** Repeats a study in one bare Python process. */
export async function runBare(request: BareRequest): Promise<BareRun> {
  const { python } = await ensureEnvironment("default");
  const folder = await Deno.makeTempDir();
  try {
    const [asked, told] = [join(folder, "request.json"), join(folder, "result.json")];
    await writeFile(asked, JSON.stringify(request));
    const load = Deno.loadavg()[0]!;
    const started = performance.now();
    const run = await execa(python, [SCRIPT, asked, told], {
      cwd: folder, // libraries write logs where they are started
      env: {
        HF_HUB_OFFLINE: "1",
        HF_HUB_DISABLE_TELEMETRY: "1",
        DO_NOT_TRACK: "1",
        HF_DATASETS_CACHE: join(folder, "datasets"),
        OMP_NUM_THREADS: String(request.threads),
        PYTHONNOUSERSITE: "1",
      },
      reject: false,
      all: true,
      stdin: "ignore",
    });
    const seconds = (performance.now() - started) / 1000;
    if (run.failed) {
      const words = run.all.trimEnd().split("\n").slice(-12).join("\n");
      throw new Error(`Cannot repeat the study in the bare script:\n${words}`);
    }
    const result: BareResult = JSON.parse(await readFile(told, "utf8"));
    return { result, seconds, load };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
