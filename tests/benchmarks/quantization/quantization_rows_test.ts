import assert from "node:assert/strict";
import { CELLS, QUICK } from "./cells.ts";
import { apart, changedWords, type QuantizedRow, Row } from "./quantization_rows.ts";
import { bareTable, keptTable, methodsTable, mixesTable } from "./tables.ts";

function row(name: string, weight_bits: number, kl: readonly number[], words = "1100"): Row {
  return Row.parse({
    ...{ name, set: name.includes(",") ? "bare" : "methods", cores: 2, weight_bits, kl, words },
    ...{ encode_seconds: 20, encode_processor_seconds: 10, load: 2.2, peak_memory_bytes: 1e9 },
    ...{ size_bytes: 1.5e8, perplexity: 30.25, original_perplexity: 20 },
  });
}

const ROWS = [
  row("original", 16, [0, 0, 0], "1110"),
  row("gptq 3", 3.25, [0.3, 0.5, 0.4]),
  row("autoround 3", 3.25, [0.5, 0.7, 0.6]),
  row("mixed 3.25", 3.25, [0.2, 0.3, 0.4]),
  { ...row("gptq 3, library alone", 3.5, [0.3, 0.5, 0.4]), encode_processor_seconds: 8 } as Row,
];

Deno.test("every cell has a name of its own and is asked something else", () => {
  for (const cells of [CELLS, QUICK]) {
    assert.equal(new Set(cells.map(({ name }) => name)).size, cells.length);
    assert.equal(new Set(cells.map(({ asked }) => JSON.stringify(asked))).size, cells.length);
  }
});

Deno.test("what a cell is calibrated anew from, or compared with, is a cell before it", () => {
  for (const cells of [CELLS, QUICK]) {
    const names = cells.map(({ name }) => name);
    for (const [index, { name, asked, set }] of cells.entries()) {
      const needs = "anew" in asked ? asked.anew : set === "bare" ? name.split(",")[0]! : null;
      if (needs !== null) assert.ok(names.slice(0, index).includes(needs), `${name}: ${needs}`);
    }
  }
});

Deno.test("every method has its cells at 4 and 3 bits before any at 2 or 8", () => {
  const actions = CELLS.filter(({ set }) => set === "methods").flatMap(({ asked }, index) =>
    "actions" in asked ? asked.actions.map(({ method, params }) => ({ method, params, index })) : []
  );
  for (const method of ["rtn", "gptq", "autoround", "awq", "hqq", "fisher_clip", "qat"]) {
    const at = [4, 3, 2, 8].map((bits) =>
      actions.find((one) => one.method === method && one.params.bits === bits)!.index
    );
    assert.ok(Math.max(at[0]!, at[1]!) < Math.min(at[2]!, at[3]!), method);
  }
  const methods = new Set(actions.map(({ method }) => method));
  for (const method of ["int8", "smoothquant", "nf4", "fp", "mixed", "eora"]) {
    assert.ok(methods.has(method), method);
  }
});

Deno.test("differences are paired over windows and over passages", () => {
  const [original, gptq, autoround] = ROWS as QuantizedRow[];
  const less = apart(gptq!, autoround!);
  assert.ok(Math.abs(less.mean + 0.2) < 1e-12 && less.half < 1e-12);
  const words = changedWords(gptq!, original)!;
  assert.deepEqual([words.share, words.mean], [0.5, -0.25]);
  assert.ok(Math.abs(words.half - 1.96 * 0.25) < 1e-12);
  // The original may have been asked more passages.
  const more = changedWords(gptq!, { words: "11101111" })!;
  assert.deepEqual(more, words);
  assert.throws(() => apart(gptq!, { ...autoround!, kl: [0.1] }), /Cannot pair 3 windows with 1/);
});

Deno.test("tables: methods by bits with the front, mixes less their rivals, libraries beside", () => {
  const [, , first, second, , last] = methodsTable(ROWS).split("\n");
  assert.match(
    first!,
    /^\| \*\*mixed 3\.25\*\* \| 3\.25 \| 0\.3 .* \| 50\.0 \(-25\.0 ± 49\.0\) \|/,
  );
  assert.match(second!, /^\| gptq 3 \| 3\.25 \| 0\.4 \(/);
  assert.match(last!, /^\| original \| 16\.00 \| {2}\| 30\.3 \| 75\.0 \|/);
  const [, , mix] = mixesTable(ROWS).split("\n");
  assert.match(mix!, /^\| mixed 3\.25 \| 3\.25 \| 0\.3 \| −0\.1 ± 0\.\d+ \(0\.4, 3\.25\) \|/);
  const [, , bare] = bareTable(ROWS).split("\n");
  assert.equal(
    bare,
    "| gptq 3 | 0.4 | 0.4 | 0 ± 0 | 10 | 8 | 1.25 | 20 (2) | 20 (2) | 1.0 | 1.0 |",
  );
});

Deno.test("the table of kept layers has each mix beside the same calibrated anew", () => {
  const seconds = ["load_model", "make", "score"].flatMap((name) => [
    [`${name}_seconds`, 90],
    [`${name}_processor_seconds`, 60],
  ]);
  const solved = ["solve", "curve", "free_solve", "free_curve"].map((name) => [
    `${name}_seconds`,
    0.05,
  ]);
  const kept = Row.parse({
    ...{ name: "kept layers", set: "kept", cores: 2, load: 2, threads: 2, formats: 12 },
    ...{
      layers: 210,
      kept_bytes: 7.2e8,
      peak_memory_bytes: 1e9,
      ...Object.fromEntries([...seconds, ...solved]),
    },
  });
  const mix = { ...row("mix 3.25", 3.25, [0.2, 0.3]), set: "mixes", encode_processor_seconds: 2 };
  const anew = { ...row("mix 3.25 anew", 3.25, [0.1, 0.3]), set: "mixes" };
  const text = keptTable([kept, Row.parse(mix), Row.parse(anew)]);
  assert.match(
    text,
    /\| 210 layers in 12 formats \| 90 s by 2 threads, 60 s of processor \|\n.*720 MB/,
  );
  assert.match(
    text,
    /\| mix 3\.25: .* \| 2 s; 10 s of processor \(5\.0 times\); KL 0\.25; 0\.2 \|/,
  );
});
