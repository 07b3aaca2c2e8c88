import assert from "node:assert/strict";
import { plan } from "../../../../core/serving/plan/plan.ts";
import { contextTable, memoryRows } from "../../../../tracker/show/plan/memory_rows.ts";
import { planFigure } from "../../../../tracker/show/plan/plan_figure.ts";
import { layoutsTable } from "../../../../tracker/show/plan/plan_tables.ts";
import { planText } from "../../../../tracker/show/plan/plan_text.ts";
import { configOf } from "../../../core/serving/plan/published.ts";

const planned = (model: string, gpus: string) => plan({ model, config: configOf(model), gpus });

Deno.test("planText() says parts, cache, cards, each server's command and what cannot be", () => {
  const text = planText(planned("Qwen/Qwen3-32B", "2xH100-80"), { container: true });
  for (const part of ["embedding", "head", "norms", "attention", "mlp"]) {
    assert.match(text, new RegExp(`^${part} `, "m"));
  }
  assert.match(text, /262,144 bytes a token/);
  assert.match(text, /Fewest: 1 × H100-80/);
  assert.match(text, /vllm serve Qwen\/Qwen3-32B \\\n/);
  assert.match(text, /docker run \\\n/);
  assert.match(text, /openvino \(not on these cards\)/);
  const wrong = planText(planned("Qwen/Qwen3-235B-A22B", "GH200-480"), { container: false });
  assert.match(wrong, /^Not so: No card has what GH200-480 says/m);
  assert.match(wrong, /does not fit/);
  assert.doesNotMatch(wrong, /vllm serve/);
});

Deno.test("layoutsTable() says of which context its sequences are where plans differ", () => {
  const { head, rows } = layoutsTable(planned("Qwen/Qwen3-32B", "2xH100-80"));
  const column = head.indexOf("sequences");
  assert.match(rows[0]![column]!, /^1 of 32,672$/);
  assert.match(rows[1]![column]!, /^7–8 of 40,960$/);
  const asked = plan({
    ...{ model: "Qwen/Qwen3-32B", config: configOf("Qwen/Qwen3-32B"), gpus: "2xH100-80" },
    context: 32_672,
  });
  const same = layoutsTable(asked);
  const [, two] = same.rows;
  assert.match(two![same.head.indexOf("sequences of 32,672")]!, /^9–10$/);
  assert.match(two!.at(-1)!, /^\d[\d,]*–\d[\d,]*$/, "a speed is a range");
});

Deno.test("contextTable() has a row a context and says what is too much", () => {
  const table = contextTable(planned("Qwen/Qwen3-32B", "2xH100-80"));
  assert.match(table, /^ *40,960 .*\d GiB over/m);
  assert.equal(
    table.match(/^ *[\d,]+ /gm)!.length,
    6,
    "2,048 to 32,768 doubled, and the native one",
  );
});

Deno.test("memoryRows() of a plan that fits add up to the card", () => {
  const found = planned("Qwen/Qwen3-32B", "2xH100-80");
  for (const name of new Set(memoryRows(found).map((row) => row.plan))) {
    const sum = memoryRows(found).filter((row) => row.plan === name)
      .reduce((all, { bytes }) => all + bytes, 0);
    assert.ok(Math.abs(sum / found.cards.memory_bytes - 1) < .001, name);
  }
});

Deno.test("planFigure() draws a bar a plan, and says why where there is none", () => {
  const svg = planFigure(planned("Qwen/Qwen3-32B", "4xH100-80"));
  assert.match(svg, /^<svg [^>]*role="img"/);
  assert.doesNotMatch(svg, /NaN|undefined|Infinity|\[object/);
  for (const word of ["weights", "cache", "activations", "graphs", "free", "4 × H100-80, TP 4"]) {
    assert.ok(svg.includes(word), word);
  }
  const none = plan({
    ...{ model: "Qwen/Qwen3-32B", config: configOf("Qwen/Qwen3-32B"), gpus: "3xH100-80" },
    tensor_parallel: 3,
  });
  assert.match(planFigure(none), /Nothing is drawn: no spread/);
});
