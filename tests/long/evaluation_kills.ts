import assert from "node:assert/strict";
import { execa } from "execa";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { readSamples } from "../../tracker/store/sample_file.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SAMPLES = 120;

/** A task plugin over a file of the tiny model's language. */
function taskFile(name: string, more: Record<string, unknown>): string {
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
    proxy_samples: SAMPLES,
    full_samples: SAMPLES,
    window_tokens: null,
    datasets: ["killed"],
    ...more,
  };
  return `import { defineTask } from "${import.meta.resolve("../../core/mod.ts")}";\n` +
    `export default defineTask(${JSON.stringify(task)});\n`;
}

/** Log-likelihoods, generations and windows, in this order, of long enough texts to be killed in. */
async function writeTasks(folder: string): Promise<string[]> {
  const text = await readFile(join(ROOT, "plugins/evaluation/data/tiny_text.jsonl"), "utf8");
  const words = text.trim().split("\n").map((line) => JSON.parse(line).text).join(" ").split(" ");
  const rows = Array.from({ length: SAMPLES }, (_, row) => words.slice(row * 60, row * 60 + 60))
    .map((part) => ({ prompt: part.slice(0, -1).join(" "), answer: part.at(-1) }));
  const data = join(folder, "rows.jsonl");
  await writeFile(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const data_file = new URL(`file://${data}`).href;
  const fields = { prompt: "string", answer: "string" };
  const definition = {
    output_type: "loglikelihood",
    doc_to_text: "{{prompt}}",
    doc_to_target: "{{' ' + answer}}",
    metric_list: [{ metric: "acc", aggregation: "mean", higher_is_better: true }],
    metadata: { version: 1, fields },
  };
  const generated = {
    ...definition,
    output_type: "generate_until",
    doc_to_target: "{{answer}}",
    generation_kwargs: { do_sample: false, max_gen_toks: 40, until: ["?"] },
    metric_list: [{ metric: "exact_match", aggregation: "mean", higher_is_better: true }],
  };
  const tasks = {
    a_scored: taskFile("a_scored", { definition, data_file }),
    b_generated: taskFile("b_generated", {
      definition: generated,
      data_file,
      metric: "exact_match,none",
    }),
    c_windows: taskFile("c_windows", {
      definition: { metadata: { version: 1, fields, text_field: "prompt" } },
      data_file,
      evaluator: "perplexity",
      metric: "perplexity,none",
      reported_metric: "perplexity",
      direction: "minimize",
      window_tokens: 48,
    }),
  };
  return await Promise.all(
    Object.entries(tasks).map(async ([name, source]) => {
      await writeFile(join(folder, `${name}.ts`), source);
      return join(folder, `${name}.ts`);
    }),
  );
}

function pare(home: string, words: readonly string[]) {
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
async function answers(home: string): Promise<string[]> {
  const folder = join(home, "answers");
  const files = await readdir(folder).catch(() => []);
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => text.split("\n").slice(0, -1));
}

/** Runs `words` until so many answers are kept, then kills everything with SIGKILL. */
async function killAt(home: string, words: readonly string[], lines: number): Promise<void> {
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
async function baseline(home: string) {
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

Deno.test("kill -9 in log-likelihoods, generations and windows: resume goes on at that batch", async () => {
  await shareDefaultEnvironment();
  const folder = await Deno.makeTempDir();
  try {
    const plugins = (await writeTasks(folder)).flatMap((path) => ["--plugin", path]);
    const run = [
      ...["run", "--model", "tiny", "--dataset", "killed", "--yes", "--max-trials", "1"],
      ...["--methods", "rtn", ...plugins],
    ];
    const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
    const unbroken = await pare(whole, run);
    assert.equal(unbroken.exitCode, 0, unbroken.all);
    const expected = await baseline(whole);
    assert.equal(expected.samples.length, 3 * SAMPLES);

    // The first file's lines are the baseline's: of each task in turn, then of nobody else's.
    const [first] = await readdir(join(whole, "answers"));
    const total = (await readFile(join(whole, "answers", first!), "utf8")).split("\n").length - 1;
    console.log(`${total} batches of ${3 * SAMPLES} samples`);
    assert.ok(total >= 20, `too few to be killed between: ${total}`);
    let kept = 0;
    for (const share of [0.15, 0.5, 0.85]) {
      const words = share === 0.15 ? run : ["resume"];
      await killAt(broken, words, Math.round(share * total));
      const lines = (await answers(broken)).length;
      assert.ok(lines >= kept, "an answer was lost");
      kept = lines;
    }
    const resumed = await pare(broken, ["resume"]);
    assert.equal(resumed.exitCode, 0, resumed.all);
    const found = await baseline(broken);
    assert.deepEqual(found.samples, expected.samples, "the same scores to the last bit");
    assert.ok(found.reused.length > 0, "nothing was reused");
    console.log(`reused of asked, by task: ${found.reused.slice(0, 3).join("; ")}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
