import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { cellsOf, tableOf } from "../cells/kept_tables.ts";
import { forksTable, KeptForks } from "./forks_rows.ts";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

Deno.test("the page's table of two libraries is that of what was measured", () => {
  const kept = KeptForks.parse(JSON.parse(read("./forks.json")));
  const page = read("../../../docs/measurements/quantizers.md");
  assert.deepEqual(cellsOf(tableOf(page, "forks")), cellsOf(forksTable(kept)));
});

Deno.test("forksTable() pairs the passes of two libraries, and reads a file's bytes at the bandwidth", () => {
  const row = (bytes: number, usual: number, fork: number) => ({
    bytes,
    "llama.cpp": { ms: [usual, usual], kl: [0.1, 0.1] },
    "ik_llama.cpp": { ms: [fork, fork], kl: [0.2, 0.2] },
  });
  const [, small] = cellsOf(forksTable({
    ...{ cores: 2, bandwidth: 50e9, load: 0 },
    files: { original: row(200e6, 8, 16), Q4_K_M: row(100e6, 6, 3) },
  }));
  assert.deepEqual(small, [
    ...["Q4_K_M", "100", "6.00", "3.00", "0.50 (0.50 to 0.50)", "0.38"],
    ...["3.00", "1.50", "0.1000", "0.2000"],
  ]);
});
