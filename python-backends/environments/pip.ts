import { execa } from "execa";
import { createInterface } from "node:readline";
import { UsageError } from "../../core/mod.ts";

/** Runs an interpreter's pip, a line at a time; throws one sentence with pip's last lines. */
export async function pip(
  python: string,
  args: readonly string[],
  { attempt, onLine = () => {}, signal }: {
    /** What is done, for the sentence: "install torch". */
    attempt: string;
    onLine?: (line: string) => void;
    signal?: AbortSignal | undefined;
  },
): Promise<string> {
  const child = execa(python, ["-m", "pip", ...args], {
    reject: false,
    stdin: "ignore",
    maxBuffer: 64 * 1024 * 1024,
    env: {
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PIP_NO_INPUT: "1",
      PYTHONNOUSERSITE: "1",
    },
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  createInterface({ input: child.stdout }).on("line", onLine);
  const result = await child;
  if (!result.failed) return result.stdout;
  if (result.isCanceled) throw new UsageError(`Cannot ${attempt}: it was cancelled`);
  throw new UsageError(`Cannot ${attempt}: ${lastWords(`${result.stdout}\n${result.stderr}`)}`);
}

/** pip's own error lines, or its last ones; warnings about mirrors say nothing. */
export function lastWords(output: string): string {
  const lines = output.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("WARNING") && !line.startsWith("[notice]"));
  const errors = lines.filter((line) => line.startsWith("ERROR"));
  const said = (errors.length > 0 ? errors : lines).slice(-3).join("; ");
  return said === "" ? "pip said nothing" : said;
}

/** Whether pip says what it does to a package: a first run has a hundred of these, which a bar counts. */
export function isRoutine(line: string): boolean {
  return /^\s*(Looking|Collecting|Processing|Downloading|Using cached|Requirement already|Preparing|Getting|Building|Installing|Attempting|Found existing|Uninstalling|Successfully)/
    .test(line);
}
