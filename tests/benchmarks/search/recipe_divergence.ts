import { execa } from "execa";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SCRIPT = fileURLToPath(new URL("./recipe_kl.py", import.meta.url));
const HELD_OUT = fileURLToPath(new URL("../recovery", import.meta.url));
const DATA = join(ROOT, "plugins", "evaluation", "data");
/** The small evaluation, the same of every recipe. */
const HELD_OUT_TEXT = {
  demo: { text: join(DATA, "demo_text.jsonl"), windows: 8, tokens: 128 },
  tiny: { text: join(DATA, "tiny_text.jsonl"), windows: 8, tokens: 64 },
};
const Divergence = z.strictObject({ kl: z.array(z.number()).min(2) });

/**
 * Logits of a window are tens of megabytes: glibc gives such blocks back to the system at once, and every
 * page is then cleared anew, which was a quarter of the processor's time.
 */
export const KEEP_MEMORY = {
  MALLOC_MMAP_THRESHOLD_: String(2 ** 30),
  MALLOC_TRIM_THRESHOLD_: String(2 ** 31 - 1),
};

/** Asks one process for the KL of one directory after another. */
export async function startDivergence(model: "demo" | "tiny", original: string) {
  const { python } = await ensureEnvironment("default");
  const child = execa(python, [SCRIPT], {
    env: {
      ...{ PYTHONPATH: `${PYTHON_ROOT}:${HELD_OUT}`, HF_HUB_OFFLINE: "1" },
      ...{ OMP_NUM_THREADS: "1", TOKENIZERS_PARALLELISM: "false", ...KEEP_MEMORY },
    },
    stdin: "pipe",
    stderr: "inherit",
    buffer: false,
    reject: false,
  });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const write = (value: unknown) => void child.stdin!.write(`${JSON.stringify(value)}\n`);
  write({ original, ...HELD_OUT_TEXT[model] });
  return {
    async of(directory: string): Promise<number[]> {
      write(directory);
      const { value, done } = await lines.next();
      if (done) throw new Error("The process that measures KL ended: its last words are above");
      return Divergence.parse(JSON.parse(value)).kl;
    },
    async end(): Promise<void> {
      child.stdin!.end();
      await child;
    },
  };
}

/** Mean and standard error of windows that are taken for independent. */
export function meanAndError(values: readonly number[]): { mean: number; error: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / (values.length - 1) / values.length) };
}
