/**
 * Lint, types and tests of the Python half.
 *
 *     deno run --allow-all python-backends/checks.ts lint   # ruff check, ruff format, mypy
 *     deno run --allow-all python-backends/checks.ts test   # pytest: of all files, or those named
 */
import { execa } from "execa";
import { join, resolve } from "node:path";
import process from "node:process";
import { UsageError } from "../core/mod.ts";
import {
  ensureEnvironment,
  findEnvironment,
  type OnEnvironmentProgress,
  overrideVariable,
} from "./environments/environments.ts";
import { PYTHON_ROOT } from "./home.ts";

/** Of pytest's closing line. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** Tests that did not run, by the reason that pytest gives; absent: none was left out. */
  readonly skipped?: readonly { reason: string; count: number }[];
}

const TESTS = join(PYTHON_ROOT, "..", "tests", "python-backends");
const CONFIG = join(PYTHON_ROOT, "pyproject.toml");

/** Runs ruff and mypy over the package and its tests; how many of the three failed. */
async function lintPython(onProgress?: OnEnvironmentProgress): Promise<Counts> {
  const options = onProgress === undefined ? {} : { onProgress };
  const checks = await ensureEnvironment("checks", options);
  const { python } = await ensureEnvironment("default", options);
  const cache = { RUFF_CACHE_DIR: join(PYTHON_ROOT, ".ruff_cache") };
  const commands = [
    ["-m", "ruff", "check", "--config", CONFIG, "pare_backends", TESTS],
    ["-m", "ruff", "format", "--check", "--config", CONFIG, "pare_backends", TESTS],
    ["-m", "mypy", "--config-file", CONFIG, "--python-executable", python, "-p", "pare_backends"],
  ];
  let failed = 0;
  for (const args of commands) {
    const result = await execa(checks.python, args, {
      cwd: PYTHON_ROOT,
      env: cache,
      reject: false,
      stdout: "inherit",
      stderr: "inherit",
    });
    if (result.failed) failed += 1;
  }
  return { passed: commands.length - failed, failed };
}

/** Runs the Python tests in the default environment, offline; pytest's output is shown. */
export async function testPython(
  args: readonly string[] = [],
  onProgress?: OnEnvironmentProgress,
): Promise<Counts> {
  const options = onProgress === undefined ? {} : { onProgress };
  const { python } = await ensureEnvironment("default", options);
  const exporter = await ensureEnvironment("openvino_export", options);
  const llama = await findEnvironment("llama_cpp"); // compiles for minutes: tested where it is
  const genai = await findEnvironment("openvino_genai"); // made for those who ask: the same
  const ik = await findEnvironment("ik_llama_cpp");
  const presses = await findEnvironment("kvpress");
  const files = args.some((arg) => arg.endsWith(".py")) ? [] : [TESTS];
  const words = [...files, ...args.map((arg) => arg.endsWith(".py") ? resolve(arg) : arg)];
  const result = await execa(python, ["-m", "pytest", "-rsfE", "-c", CONFIG, ...words], {
    cwd: PYTHON_ROOT,
    reject: false,
    env: {
      HF_HUB_OFFLINE: "1",
      PYTHONDONTWRITEBYTECODE: "",
      PYTHONPATH: PYTHON_ROOT,
      [overrideVariable("openvino_export")]: exporter.python,
      ...(llama === null ? {} : { [overrideVariable("llama_cpp")]: llama.python }),
      ...(ik === null ? {} : { [overrideVariable("ik_llama_cpp")]: ik.python }),
      ...(genai === null ? {} : { [overrideVariable("openvino_genai")]: genai.python }),
      ...(presses === null ? {} : { [overrideVariable("kvpress")]: presses.python }),
    },
    stdout: ["pipe", "inherit"],
    stderr: "inherit",
  });
  const counts = readCounts(result.stdout);
  // A pytest that broke before it counted has failed too.
  if (result.failed && counts.failed === 0) return { ...counts, failed: 1 };
  return counts;
}

/** The figures of pytest's closing line, such as `1 failed, 31 passed, 1 error in 2.3s`. */
export function readCounts(output: string): Counts {
  const line = output.trimEnd().split("\n").findLast((one) => / in [\d.]+s/.test(one)) ?? "";
  const count = (word: RegExp) => Number(line.match(word)?.[1] ?? 0);
  const counts = {
    passed: count(/(\d+) passed/),
    failed: count(/(\d+) failed/) + count(/(\d+) error/),
  };
  const left = count(/(\d+) skipped/);
  if (left === 0) return counts;
  // As `-rs` tells them: SKIPPED [2] tests/test_x.py:7: the reason
  const told = [...output.matchAll(/^SKIPPED \[(\d+)\] [^\n]*?\.py(?::\d+)?: (.*)$/gm)]
    .map(([, times, reason = ""]) => ({ reason, count: Number(times) }));
  const rest = left - told.reduce((sum, one) => sum + one.count, 0);
  const untold = rest > 0 ? [{ reason: "no reason was given", count: rest }] : [];
  return { ...counts, skipped: [...told, ...untold] };
}

if (import.meta.main) {
  const [what, ...rest] = Deno.args;
  const show: OnEnvironmentProgress = ({ environment, line }) => {
    if (!line.startsWith("Collecting")) console.error(`${environment}: ${line}`);
  };
  try {
    if (what !== "lint" && what !== "test") {
      throw new UsageError(`Cannot check "${what ?? ""}": say lint or test`);
    }
    const counts = what === "lint" ? await lintPython(show) : await testPython(rest, show);
    if (what === "lint") console.log(`${counts.passed} passed, ${counts.failed} failed`);
    process.exitCode = counts.failed > 0 ? 1 : 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}
