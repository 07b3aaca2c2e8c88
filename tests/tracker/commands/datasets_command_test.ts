import assert from "node:assert/strict";
import { datasetsCommand } from "../../../tracker/commands/keep/datasets.ts";
import { JSON_SHAPES } from "../../../tracker/show/json/json_shapes.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";

/** What the command prints. */
async function printed(word?: string, json = false): Promise<string[]> {
  const lines: string[] = [];
  const { log } = console;
  console.log = (text: string) => lines.push(...text.split("\n"));
  try {
    await datasetsCommand(word, { json });
  } finally {
    console.log = log;
  }
  return lines;
}

Deno.test("pare datasets shows every set and benchmark, with what cannot be had and why", async () => {
  const lines = await printed();
  const { agents, tasks } = await discoverPlugins();
  const row = (name: string) => lines.filter((line) => line.startsWith(`${name} `)).at(-1) ?? "";
  for (const { name, summary } of tasks) assert.ok(row(name).includes(summary), name);
  for (const { datasets } of agents.flatMap((agent) => agent.benchmark_sets ?? [])) {
    assert.ok(lines.some((line) => line.startsWith(datasets.join(", "))), datasets[0]);
  }
  assert.match(
    row("gsm8k"),
    /\s100\s+1000\s+8\s+0\s+openai\/gsm8k, or gsm8k\/test\.jsonl\.gz of --/,
  );
  assert.match(row("mmlu"), /\s285\s+all\s+5\s+0\.25\s+cais\/mmlu, or/);
  assert.match(row("wikitext2"), /\s–\s+Salesforce\/wikitext/);
  assert.match(
    row("planning"),
    /^planning\s+none\s+alfworld: it needs a simulator of rooms.*; babyai/,
  );
});

Deno.test("pare datasets NAME shows that alone; an unknown name gets the nearest", async () => {
  const lines = await printed("execution");
  assert.deepEqual(lines.filter((line) => /^\w/.test(line)).map((line) => line.split(/\s/)[0]), [
    "execution",
    "benchmark",
    "countdown",
  ]);
  await assert.rejects(
    printed("exection"),
    /Unknown dataset "exection"\. Did you mean "execution"/,
  );
});

Deno.test("pare datasets --json tells the same, checked against its shape", async () => {
  const { kind, data } = JSON.parse((await printed(undefined, true)).join("\n"));
  assert.equal(kind, "datasets");
  const { sets, benchmarks } = JSON_SHAPES.datasets.parse(data);
  const named = (name: string) => benchmarks.find((one) => one.name === name)!;
  assert.deepEqual([named("mmlu").full_samples, named("mmlu").chance], [null, 0.25]);
  assert.deepEqual([named("wikitext2").metric, named("wikitext2").chance], ["perplexity", null]);
  const planning = sets.find(({ datasets }) => datasets.includes("planning"))!;
  assert.deepEqual(planning.benchmarks, []);
  assert.match(planning.missing["alfworld"]!, /^it needs a simulator/);
});
