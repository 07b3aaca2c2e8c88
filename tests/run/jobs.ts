/** The jobs of each kind of run. */
import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { readCounts } from "../../python-backends/checks.ts";
import { environmentNames } from "../../python-backends/environments/environment_pins.ts";
import { evenParts, groupFiles, secondsOf, type TestFile } from "./groups.ts";
import type { Job } from "./lanes.ts";
import { MODELS, needsOf } from "./needs.ts";
import { check, ROOT, tests } from "./run_job.ts";
import { readSeconds, unknownSeconds } from "./seconds.ts";
import { allOf } from "./set_up.ts";
import { waits } from "./waits.ts";

const SOURCES = ["core", "plugins", "python-backends", "tracker", "tests"];
/** More than lanes: a part that failed beside others is short enough to be run again alone. */
const PYTHON_PARTS = 6;
/** Seconds that a process takes before its first test. */
const START_SECONDS = 2;
/** torch and transformers are imported. */
const PYTHON_START_SECONDS = 10;

/** What a run is of. */
export interface Asked {
  /** What will be there, by name. */
  readonly steps: ReadonlyMap<string, Promise<void>>;
  /** Files whose paths begin so; none: all. */
  readonly below: readonly string[];
  /** Print the seconds of each of Python's tests. */
  readonly measure: boolean;
}

/** Names of all files below a folder that end so, from the project's root. */
export async function filesBelow(folder: string, ending: string): Promise<string[]> {
  const entries = await readdir(`${ROOT}${folder}`, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => `${entry.parentPath.slice(ROOT.length)}/${entry.name}`).sort();
}

async function testFiles(folder: string, ending: RegExp, { below }: Asked): Promise<TestFile[]> {
  const seconds = await readSeconds();
  const asked = (path: string) =>
    ending.test(path) && (below.length === 0 || below.some((start) => path.startsWith(start)));
  return (await filesBelow(folder, "")).filter(asked).map((path) => ({
    path,
    seconds: seconds[path] ?? unknownSeconds(path),
    needs: needsOf(ROOT, path, environmentNames()),
  }));
}

/** Once for all: each process that checked its own files would check what they import again. With the
 * examples of the documentation. */
export function types(): Job {
  return check({ name: "types", seconds: 60 }, [
    ...["check", "--quiet", "--doc", ...SOURCES, "README.md", ...pages()],
  ]);
}

/** The pages of the documentation beside README.md. */
function pages(): string[] {
  return readdirSync(`${ROOT}docs`).filter((name) => name.endsWith(".md")).map((name) =>
    `docs/${name}`
  );
}

export function staticChecks({ steps }: Asked): Job[] {
  const python = ["run", "--allow-all", "python-backends/checks.ts", "lint"];
  const after = allOf(steps, ["checks", "default"]);
  return [
    check({ name: "format", seconds: 8 }, ["fmt", "--check", "--quiet"]),
    check({ name: "lint", seconds: 8 }, ["lint", "--quiet"]),
    tests({ name: "Python's lint and types", seconds: 60, after }, python, readLintCounts),
  ];
}

/** Of the closing line of checks.ts lint. */
function readLintCounts(output: string) {
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(output) ?? [];
  return passed === undefined ? null : { passed: Number(passed), failed: Number(failed) };
}

/** Files of Deno's tests in one process: what one sets, such as a variable, no other process sees. */
function denoJob(files: readonly TestFile[], steps: Asked["steps"]): Job {
  const paths = files.map(({ path }) => path);
  const needs = [...new Set(files.flatMap(({ needs }) => needs))];
  return tests({
    name: paths.join(" "),
    seconds: START_SECONDS + secondsOf(files),
    after: allOf(steps, needs),
    waits: paths.every(waits),
  }, ["test", "--allow-all", "--no-check", ...paths]);
}

async function pythonJobs(asked: Asked): Promise<Job[]> {
  const files = await testFiles("tests/python-backends", /\/test_[^/]*\.py$/, asked);
  const runtimes = ["openvino_export", "llama_cpp", "ik_llama_cpp", "openvino_genai"];
  const after = allOf(asked.steps, ["default", ...runtimes, "kvpress", MODELS]);
  const durations = asked.measure ? ["--durations=0", "-vv"] : [];
  return evenParts(files, PYTHON_PARTS).map((part, n, { length }) => {
    const words = [
      ...["run", "--allow-all", "python-backends/checks.ts", "test", ...durations],
      ...part.map(({ path }) => path),
    ];
    const seconds = PYTHON_START_SECONDS + secondsOf(part);
    return tests({ name: `Python, part ${n + 1} of ${length}`, seconds, after }, words, readCounts);
  });
}

export async function shortJobs(asked: Asked): Promise<Job[]> {
  const groups = groupFiles(await testFiles("tests", /_test\.ts$/, asked));
  return [...await pythonJobs(asked), ...groups.map((files) => denoJob(files, asked.steps))];
}

export function docExamples(): Job {
  const docs = SOURCES.filter((folder) => folder !== "tests");
  const words = ["test", "--allow-all", "--no-check", "--doc", ...docs];
  return tests({ name: "examples in comments", seconds: START_SECONDS }, words);
}

/** No short run picks these up: only names that end in _test.ts are its own. The gate has tests/long;
 * a campaign tries at many places what these and the short tests try at a few. */
export async function longJobs(asked: Asked, folders: readonly string[]): Promise<Job[]> {
  const found = await Promise.all(folders.map((folder) => testFiles(folder, /\.ts$/, asked)));
  const files = found.flat();
  return files.map((file) => denoJob([file], asked.steps));
}
