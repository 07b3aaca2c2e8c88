import assert from "node:assert/strict";
import { klText } from "../../../tracker/commands/study/kl.ts";

Deno.test("two models' difference is a short table: both ways, agreement, the blocks that moved", () => {
  const nats = (mean: number, standard_error: number | null) => ({
    ...{ mean, standard_error },
    quantiles: [{ share: 0.5, value: mean / 2 }, { share: 1, value: 9 * mean }],
  });
  const found = {
    ...{ text: "shipped", windows: 2, tokens: 200, agreement: 0.875, blocks: [0.1, 0.3, 0.2] },
    kl: nats(0.125, 0.01),
    reverse_kl: nats(0.25, null),
  };
  const lines = klText(found).split("\n");
  assert.match(lines[0]!, /nats per token +mean ± standard error +50 % +most/);
  assert.match(lines[2]!, /KL\(base, other\) +0\.125 ± 0\.0100 +0\.0625 +1\.13/);
  assert.match(lines[3]!, /KL\(other, base\) +0\.250 +0\.125 +2\.25/);
  assert.match(lines[5]!, /the same for 87\.5 % of 200 tokens \(2 windows, text: shipped\)/);
  assert.match(
    lines[6]!,
    /last block are 0\.200 .*furthest after blocks 1 \(0\.300\), 2 \(0\.200\)/,
  );
  assert.equal(klText({ ...found, blocks: [] }).split("\n").length, 6, "blocks were cut away");
});
