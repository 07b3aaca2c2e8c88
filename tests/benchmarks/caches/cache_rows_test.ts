import assert from "node:assert/strict";
import { type Cell, knownCells, withFound } from "./cache_rows.ts";

const cell = (method: string, measured: Record<string, number>): Cell => ({
  ...{ length: 1024, method, share: 0.25 },
  measured: Object.fromEntries(
    Object.entries(measured).map(([name, mean]) => [name, { mean, half: null, count: 1 }]),
  ),
});
const kept = (cells: Cell[]) => ({ cells, times: [], load: [1, 1], seconds: 1, threads: 1 });

Deno.test("figures that are lacking are added, and none that was kept is changed", () => {
  const before = kept([cell("snapkv", { tokens: 256, text_kl: 0.1 })]);
  assert.deepEqual(knownCells(before), { "1024 text": [["snapkv", 0.25]] });
  const found = kept([
    cell("snapkv", { tokens: 200, chain_nll: 2 }),
    cell("streaming", { text_kl: 0.3 }),
  ]);
  assert.deepEqual(withFound(before, found).cells, [
    cell("snapkv", { tokens: 256, chain_nll: 2, text_kl: 0.1 }),
    cell("streaming", { text_kl: 0.3 }),
  ]);
});
