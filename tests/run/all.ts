/**
 * Every check of the project with its set-up.
 *
 *     deno task test        # both languages' tests
 *     deno task ok          # format, lint, types, then the tests
 *     deno task test:long   # what is slow but matters
 */
import { execa } from "execa";
import { availableParallelism } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { lintPython, readCounts } from "../../python-backends/checks.ts";
import { usualEnvironments } from "../../python-backends/environments/environment_pins.ts";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../python-backends/environments/environments.ts";
import { trainedTinyModel } from "../tiny_model.ts";
import { addCounts, closingLines, type Counts, denoCounts } from "./counts.ts";
import { groupFiles, type Job, runInLanes } from "./lanes.ts";
import { inTemporaryFolder } from "./temporary.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = ["core", "plugins", "python-backends", "tracker", "tests"];

/** What takes longest begins first, so that no lane waits for it at the end. */
const LONG_FILES = [
  "tests/notebooks/notebooks_test.ts",
  "tests/tracker/study_tiny_test.ts",
  "tests/plugins/conformance_test.ts",
  "tests/tracker/bad_input_test.ts",
  "tests/tracker/hub_data_test.ts",
  "tests/tracker/hub_model_test.ts",
  "tests/tracker/dataset_list_test.ts",
  "tests/tracker/mlflow/mirror_test.ts",
  "tests/tracker/full_disk_test.ts",
  "tests/tracker/store_test.ts",
  "tests/tracker/served_test.ts",
];
/** Starting a process takes a second. */
const FILES_A_PROCESS = 10;

/**
 * Makes what is missing, environments and the demo's model, and names the environments to all tests:
 * one that has a PARE_HOME of its own would make them all again there.
 */
async function setUp(names: readonly string[]): Promise<void> {
  for (const name of names) {
    let shown = "";
    const { python } = await ensureEnvironment(name, {
      onProgress: ({ line }) => {
        if (
          /^(Collecting|Processing|Downloading|Using cached|Looking|Installing|Successfully)/.test(
            line.trim(),
          ) || line === shown
        ) return;
        console.error(`${name}: ${shown = line}`);
      },
    });
    process.env[overrideVariable(name)] = python;
  }
  await ensureDemoModel();
  // Before the lanes start: each would train one of its own.
  const client = createBackendClient({ spares: false });
  await trainedTinyModel(client);
}

/** Ends what runs when this process is to end, so that its temporary folder still goes. */
const stop = new AbortController();

/** Runs deno with words; what it printed and whether it failed. Shown as it comes unless `quiet`. */
async function deno(
  words: readonly string[],
  { quiet = false, env = {} }: { quiet?: boolean; env?: Record<string, string> } = {},
): Promise<{ output: string; failed: boolean }> {
  const shown = quiet ? "pipe" as const : ["pipe", "inherit"] as const;
  const result = await execa(Deno.execPath(), words, {
    cwd: ROOT,
    reject: false,
    all: true,
    stdin: "ignore",
    stdout: shown,
    stderr: shown,
    cancelSignal: stop.signal,
    env: { NO_COLOR: "1", HF_HUB_OFFLINE: "1", ...env },
  });
  return { output: result.all ?? "", failed: result.failed };
}

/** One check as one test: a name, and whether it passed. */
async function check(name: string, ...words: string[]): Promise<Counts> {
  const { failed } = await deno(words);
  console.log(`${failed ? "FAILED" : "ok"}: ${name}`);
  return failed ? { passed: 0, failed: 1 } : { passed: 1, failed: 0 };
}

/** The counts of a run; one that broke before it counted has failed too. */
function countsOf(counts: Counts | null, failed: boolean): Counts {
  const read = counts ?? { passed: 0, failed: 0 };
  return failed && read.failed === 0 ? { ...read, failed: 1 } : read;
}

/** A part of the suite in a process of its own, its output kept until it has ended. */
function job(name: string, words: string[], read: (output: string) => Counts | null): Job {
  return {
    name,
    async run() {
      // Lanes share the cores, and a tiny model is slower with two threads than with one.
      const env = { OMP_NUM_THREADS: "1" };
      const { output, failed } = await deno(words, { quiet: true, env });
      return { counts: countsOf(read(output), failed), output };
    },
  };
}

/** Once for all: each process that checked its own files would check what they import again. */
function types(): Promise<Counts> {
  return check("types", "check", "--quiet", ...SOURCES);
}

async function staticChecks(): Promise<Counts[]> {
  return [
    await check("format", "fmt", "--check", "--quiet"),
    await check("lint", "lint", "--quiet"),
    await check("README's examples", "check", "--quiet", "--doc-only", "README.md"),
    await lintPython(),
  ];
}

/** Names of all files below a folder that end so, from the project's root. */
async function filesBelow(folder: string, ending: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(`${ROOT}${folder}`));
  const found = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return await filesBelow(path, ending);
    return name.endsWith(ending) ? [path] : [];
  }));
  return found.flat();
}

/** Runs jobs in lanes and shows what each printed; no lane more than cores: tests watch times. */
async function inLanes(jobs: readonly Job[]): Promise<Counts> {
  const lanes = Math.max(2, Math.min(availableParallelism(), 4));
  const all = await runInLanes(jobs, lanes, ({ output, seconds }) => {
    console.log(`${output.trimEnd()}\n[${seconds.toFixed(0)} s]\n`);
  });
  return addCounts(all);
}

/** Files of Deno's tests in one process: what one sets, such as a variable, no other process sees. */
function testFiles(files: readonly string[]): Job {
  return job(files.join(" "), ["test", "--allow-all", "--no-check", ...files], denoCounts);
}

async function shortTests(): Promise<Counts> {
  const groups = groupFiles(await filesBelow("tests", "_test.ts"), LONG_FILES, FILES_A_PROCESS);
  const docs = SOURCES.filter((folder) => folder !== "tests");
  const python = ["run", "--allow-all", "python-backends/checks.ts", "test"];
  return await inLanes([
    job("Python", python, readCounts),
    ...groups.map(testFiles),
    job(
      "examples in comments",
      ["test", "--allow-all", "--no-check", "--doc", ...docs],
      denoCounts,
    ),
  ]);
}

/** No short run picks these up: only names that end in _test.ts are its own. */
async function longTests(): Promise<Counts> {
  const files = await filesBelow("tests/long", ".ts");
  return await inLanes(files.sort().map((file) => testFiles([file])));
}

async function main(mode: string): Promise<Counts> {
  await setUp(usualEnvironments());
  if (mode === "long") return await longTests();
  const checks = mode === "ok" ? await staticChecks() : [];
  return addCounts([...checks, await types(), await shortTests()]);
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => stop.abort());
  }
  const counts = await inTemporaryFolder(() => main(Deno.args[0] ?? "test"));
  console.log(`\n${closingLines(counts).join("\n")}`);
  const { passed, failed } = counts;
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
