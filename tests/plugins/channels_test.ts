import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { checkStrategy, type ModelFacts, resolveActions, totalBytes } from "../../core/mod.ts";
import channels, { keptChannels, keptGroups } from "../../plugins/pruning/channels.ts";
import rtn from "../../plugins/quantization/rtn.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { must, type TinyWorld, tinyWorld } from "../tiny_model.ts";

type Own = Pick<ModelFacts, "linear_shapes" | "parameters" | "linear_parameters" | "group_sizes">;

/** What a cut decides of a model, its shapes in one order. */
function cutFacts(model: Own & Partial<ModelFacts>) {
  const { parameters, linear_parameters, group_sizes, intermediate_size, heads, kv_heads } = model;
  const shapes = model.linear_shapes.map(({ out_features, in_features, count, bias }) =>
    `${out_features}x${in_features} ${bias ?? false} ${count}`
  ).sort();
  const widths = { intermediate_size, heads, kv_heads };
  return { parameters, linear_parameters, group_sizes, ...widths, shapes };
}

async function cut(world: TinyWorld, params: Record<string, number>) {
  const output_dir = await mkdtemp(join(world.folder, "channels-"));
  return must(
    await world.client.run({
      stage: "apply",
      parent_dir: world.model_dir,
      output_dir,
      agent: "pruning",
      method: "channels",
      params,
      calibration_path: null,
      seed: 1,
      python_path: null,
    }, { environment: "default" }),
  );
}

Deno.test("keptChannels() and keptGroups() round to the nearest, of two as near to the wider", () => {
  assert.equal(keptChannels(1536, 0.25, 32), 1152);
  assert.equal(keptChannels(1536, 0.01, 64), 1536);
  assert.equal(keptChannels(48, 0.5, 16), 32); // 24 lies between 16 and 32
  assert.equal(keptChannels(64, 0.5, 64), 64); // one step is left at least
  assert.equal(keptGroups(3, 0.5), 2);
  assert.equal(keptGroups(4, 0.25), 3);
  assert.equal(keptGroups(1, 0.5), 1);
});

Deno.test("what a cut leaves is what its files hold, and what follows it is checked against that", async () => {
  await shareDefaultEnvironment();
  const env = { HF_HUB_OFFLINE: "1" };
  const client = createBackendClient({ home: temporaryFolder("channels"), env });
  try {
    const world = await tinyWorld(client);
    for (
      const params of [
        { mlp_ratio: 0.25, attention_ratio: 0, round_to: 8 },
        { mlp_ratio: 0.5, attention_ratio: 0.5, round_to: 16 },
      ]
    ) {
      const { model, formula_bytes } = await cut(world, params);
      const left = channels.leaves(params, world.facts).model;
      assert.deepEqual(cutFacts(left), cutFacts({ ...world.facts.model, ...model }));
      assert.equal(totalBytes(left), formula_bytes);
      assert.ok(left.parameters < world.facts.model.parameters);
    }
    const entries = [{ agent: "pruning", method: channels }, {
      agent: "quantization",
      method: rtn,
    }];
    const narrow = { mlp_ratio: 0.5, attention_ratio: 0, round_to: 8 };
    const { group_sizes } = channels.leaves(narrow, world.facts).model;
    const gone = world.facts.model.group_sizes.find((size) => !group_sizes.includes(size));
    if (gone !== undefined) {
      const recipe = resolveActions(
        [
          { agent: "pruning", method: "channels", params: narrow },
          { agent: "quantization", method: "rtn", params: { bits: 4, group_size: gone } },
        ],
        entries,
        world.facts,
      );
      const verdict = checkStrategy(recipe, entries, world.facts);
      assert.match(verdict.ok ? "" : verdict.reason, /does not divide the rows/);
    }
  } finally {
    await client.close();
  }
});
