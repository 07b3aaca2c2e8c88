import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { cellsOf, tableOf } from "../cells/kept_tables.ts";
import { type Alone, chainsTable } from "./chains.ts";
import { PAGE, pageTables } from "./recovery_page.ts";
import type { RecoveryRow } from "./recovery_rows.ts";

function row(own: Partial<RecoveryRow>): RecoveryRow {
  return {
    ...{ cut: "nothing", recovery: "none", rounding: "int8", state: "completed" },
    ...{ accuracy: null, accuracy_drop: null, drop_low: null, drop_high: null },
    ...{ perplexity: 40, latency_ratio: 0.5, size_bytes: 100e6, training_seconds: null },
    ...{ kl: null, kl_low: null, kl_high: null, won_back: null, won_back_alike: null },
    ...{ kl_windows: [0.2, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3] },
    ...own,
  };
}

const chain = (own: Partial<RecoveryRow>) =>
  row({ cut: "2 blocks", recovery: "distill", size_bytes: 90e6, latency_ratio: 0.4, ...own });

Deno.test("a chain stands beside the best quantizer that is not larger, and the best not slower", () => {
  const coded: Alone = {
    ...{ name: "coded", size_bytes: 90e6, latency_ratio: null },
    kl: [0.1, 0.21, 0.1, 0.19, 0.1, 0.21, 0.1, 0.19],
  };
  const lines = chainsTable([row({}), chain({})], [coded, {
    ...coded,
    name: "large",
    size_bytes: 91e6,
  }])
    .split("\n").slice(2);
  assert.deepEqual(lines, [
    "| 2 blocks → distill → int8 | 90 | 0.40 | 0.25 | coded (0.15) | 0.1 ± 0.00632, behind | " +
    "none is as fast |  |",
  ]);
});

Deno.test("a chain of less KL on every window is ahead, one of the same by turns undecided", () => {
  const verdict = (kl_windows: number[]) =>
    cellsOf(
      chainsTable([row({}), chain({ kl_windows, size_bytes: 120e6, latency_ratio: 0.6 })], []),
    )
      .at(-1)!;
  const ahead = verdict([0.1, 0.2, 0.11, 0.2, 0.1, 0.2, 0.11, 0.2]);
  assert.match(ahead[5]!, /^-0\.\d+ ± .*, ahead$/);
  assert.match(ahead[7]!, /, ahead$/);
  assert.match(verdict([0.3, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3, 0.2])[5]!, /, undecided$/);
});

Deno.test("the page has the tables of what is kept", async () => {
  const page = await readFile(PAGE, "utf8");
  const { recovery, chains } = await pageTables();
  assert.deepEqual(cellsOf(tableOf(page, "recovery")), cellsOf(recovery));
  assert.deepEqual(cellsOf(tableOf(page, "chains")), cellsOf(chains));
});
