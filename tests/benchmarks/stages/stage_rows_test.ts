import assert from "node:assert/strict";
import { rateDistortion } from "../../../tracker/show/plots/figures/rate_distortion.ts";
import { readLines } from "../cells/kept_lines.ts";
import { CELLS, QUICK } from "./cells.ts";
import { figureRows, frontOf, KeptCell, stagesTable } from "./stage_rows.ts";

function cell(name: string, weight_bits: number, kl: number): KeptCell {
  return {
    ...{ name, method: name.split(" ")[0]!, params: { bits: 4 }, cores: 2, weight_bits },
    ...{ kl: [kl, kl], encode_seconds: 3.25, encode_processor_seconds: 41, load: 2.2 },
    ...{ peak_memory_bytes: 1e9, size_bytes: 1.5e8, decode_mb_per_second: 321 },
    ...{ decode_processor_seconds: 1, perplexity: 30.25, original_perplexity: 20 },
  };
}

const CELLS_KEPT = [cell("rtn 4", 4, 0.1), cell("gptq 4", 4, 0.05), cell("seedlm", 3, 0.2)];

Deno.test("every cell has a name of its own and another recipe", () => {
  for (const cells of [CELLS, QUICK]) {
    assert.equal(new Set(cells.map(({ name }) => name)).size, cells.length);
    assert.equal(new Set(cells.map(({ action }) => JSON.stringify(action))).size, cells.length);
  }
});

Deno.test("a line that a kill cut off is measured again, any other broken one is told", () => {
  const lines = CELLS_KEPT.map((one) => JSON.stringify(one));
  const torn = `${lines.join("\n")}\n${lines[0]!.slice(0, 40)}`;
  assert.deepEqual(readLines(KeptCell, torn), CELLS_KEPT);
  assert.throws(() => readLines(KeptCell, `{"name": 3}\n${lines[0]}`), /Cannot read line 1/);
  assert.throws(
    () => readLines(KeptCell, `${lines[0]!.slice(0, 40)}\n${lines[0]}`),
    /Cannot read line 1/,
  );
});

Deno.test("the front is what no other cell beats in bits and KL", () => {
  assert.deepEqual([...frontOf(CELLS_KEPT)], ["gptq 4", "seedlm"]);
  const same = [cell("a", 4, 0.1), cell("b", 4, 0.1)];
  assert.deepEqual([...frontOf(same)], ["a", "b"]);
});

Deno.test("the table has a line a cell by bits, and the figure a point a cell", () => {
  const [, , first, second] = stagesTable(CELLS_KEPT).split("\n");
  assert.equal(
    first,
    "| **seedlm** | 3.00 | 0.2 (0.2 to 0.2) | 30.3 | 3.3 | 41 | 2 | 321 | 150.0 |",
  );
  assert.match(second!, /^\| \*\*gptq 4\*\* \| 4\.00 /);
  const figure = rateDistortion(figureRows(CELLS_KEPT));
  assert.deepEqual([...figure.matchAll(/>4</g)].length >= 2, true, "rtn's and gptq's");
  for (const method of ["rtn", "gptq", "seedlm"]) assert.ok(figure.includes(`>${method}<`), method);
});
