import assert from "node:assert/strict";
import { execa } from "execa";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { readSamples } from "../../tracker/store/sample_file.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A task plugin, of which `samples` are evaluated. */
export function taskFile(name: string, samples: number, more: Record<string, unknown>): string {
  const task = {
    name,
    version: "1",
    summary: "for a test",
    evaluator: "lm_eval",
    lm_eval_task: null,
    shipped: true,
    few_shot: 0,
    metric: "acc,none",
    reported_metric: "accuracy",
    unit: "1",
    direction: "maximize",
    chance: 0,
    proxy_samples: samples,
    full_samples: samples,
    window_tokens: null,
    datasets: ["killed"],
    ...more,
  };
  return `import { defineTask } from "${import.meta.resolve("../../core/mod.ts")}";\n` +
    `export default defineTask(${JSON.stringify(task)});\n`;
}

export function pare(home: string, words: readonly string[]) {
  return execa(Deno.execPath(), ["run", "--allow-all", "tracker/cli.ts", ...words], {
    cwd: ROOT,
    env: { PARE_HOME: home, NO_COLOR: "1", HF_HUB_OFFLINE: "1" },
    stdin: "ignore",
    reject: false,
    all: true,
  });
}

/** A process and all that it started, by /proc. */
async function family(pid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
  }
  const found = [pid];
  for (const one of found) {
    for (const [child, parent] of parents) if (parent === one) found.push(child);
  }
  return found;
}

/** Lines of the answers kept so far. */
export async function answers(home: string): Promise<string[]> {
  const folder = join(home, "answers");
  const files = await readdir(folder).catch(() => []);
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => text.split("\n").slice(0, -1));
}

/** Runs `words` until so many answers are kept, then kills everything with SIGKILL. */
export async function killAt(home: string, words: readonly string[], lines: number): Promise<void> {
  const run = pare(home, words);
  let ended = false;
  run.then(() => ended = true);
  while (!ended && (await answers(home)).length < lines) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.ok(!ended, `it ended before ${lines} answers: ${(await run).all}`);
  for (const pid of await family(run.pid!)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // it ended by itself meanwhile
    }
  }
  await run;
}

/** Every sample of the baseline's proxy without its seconds, and how many answers were reused. */
export async function baseline(home: string) {
  const journal = await readFile(join(home, "store", "journal.jsonl"), "utf8");
  const records = journal.split("\n").filter((line) => line.includes('"samples_written"'));
  const line = records.find((one) => one.includes('"proxy"') && one.includes("/t00"))!;
  const { path, sha256 } = /"path":"(?<path>[^"]*)".*"sha256":"(?<sha256>\w+)"/.exec(line)!
    .groups as { path: string; sha256: string };
  const samples = await readSamples(join(home, "store", path), sha256);
  const told = [...journal.matchAll(/(\d+) of (\d+) requests answered by an earlier evaluation/g)];
  return {
    samples: samples.map((sample) => ({ ...sample, seconds: null })),
    reused: told.map(([, reused, asked]) => [Number(reused), Number(asked)] as const),
  };
}
