/**
 * Every check of the project with its set-up.
 *
 *     deno task test        # both languages' tests
 *     deno task ok          # format, lint, types, then the tests
 *     deno task test:long   # what is slow but matters
 */
import { execa } from "execa";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { lintPython, testPython } from "../../python-backends/checks.ts";
import { environmentNames } from "../../python-backends/environment_pins.ts";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../python-backends/environments.ts";
import { addCounts, type Counts, denoCounts } from "./counts.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = ["core", "plugins", "python-backends", "tracker", "tests"];

/** Makes what is missing: environments and the demo's model. */
async function setUp(names: readonly string[]): Promise<void> {
  for (const name of names) {
    let shown = "";
    await ensureEnvironment(name, {
      onProgress: ({ line }) => {
        if (
          /^(Collecting|Processing|Downloading|Using cached|Looking|Installing|Successfully)/.test(
            line.trim(),
          ) || line === shown
        ) return;
        console.error(`${name}: ${shown = line}`);
      },
    });
  }
  await ensureDemoModel();
}

/** Runs deno with words, its output shown; what it printed and whether it failed. */
async function deno(...words: string[]): Promise<{ output: string; failed: boolean }> {
  const result = await execa(Deno.execPath(), words, {
    cwd: ROOT,
    reject: false,
    all: true,
    stdin: "ignore",
    stdout: ["pipe", "inherit"],
    stderr: ["pipe", "inherit"],
    env: { NO_COLOR: "1", HF_HUB_OFFLINE: "1" },
  });
  return { output: result.all ?? "", failed: result.failed };
}

/** One check as one test: a name, and whether it passed. */
async function check(name: string, ...words: string[]): Promise<Counts> {
  const { failed } = await deno(...words);
  console.log(`${failed ? "FAILED" : "ok"}: ${name}`);
  return failed ? { passed: 0, failed: 1 } : { passed: 1, failed: 0 };
}

/** Deno's tests; a run that broke before it counted has failed too. */
async function denoTests(...words: string[]): Promise<Counts> {
  const { output, failed } = await deno("test", "--allow-all", ...words);
  const counts = denoCounts(output) ?? { passed: 0, failed: 0 };
  return failed && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

async function staticChecks(): Promise<Counts[]> {
  return [
    await check("format", "fmt", "--check", "--quiet"),
    await check("lint", "lint", "--quiet"),
    await check("types", "check", "--quiet", ...SOURCES),
    await lintPython(),
  ];
}

/** Files whose names no short run picks up: `deno test` takes those that end in _test.ts. */
async function longTests(): Promise<string[]> {
  const files = await Array.fromAsync(Deno.readDir(`${ROOT}tests/long`));
  return files.filter(({ name }) => name.endsWith(".ts")).map(({ name }) => `tests/long/${name}`);
}

async function shortTests(): Promise<Counts[]> {
  return [
    await denoTests("--doc", "--ignore=tests/long", ...SOURCES),
    await testPython(),
  ];
}

async function main(mode: string): Promise<Counts> {
  await setUp(environmentNames());
  if (mode === "long") return await denoTests(...await longTests());
  return addCounts([...(mode === "ok" ? await staticChecks() : []), ...await shortTests()]);
}

if (import.meta.main) {
  const { passed, failed } = await main(Deno.args[0] ?? "test");
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
