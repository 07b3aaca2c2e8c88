/** Scores of layers, added up by part and format, as samplers are shown them. */
import assert from "node:assert/strict";
import type { JournalRecord } from "../../../core/mod.ts";
import { formatLosses } from "../../../tracker/lab/data/format_losses.ts";
import type { Store } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

type Scored = Extract<JournalRecord, { type: "layers_scored" }>;
type Layer = Scored["layers"][number];

const layer = (layer_index: number, format: string, value: number, more: Partial<Layer> = {}) => ({
  ...{ layer: `layer ${layer_index}`, layer_index, part: "linear" as const, format },
  ...{ weight_bits: 4.25, size_bytes: 425, scorer: "kl", value, standard_error: null },
  ...{ unit: "nats/token", n: 256, shares_input: null, ...more },
});

function scored(study_id: string, layers: Layer[], more: Partial<Scored> = {}): Scored {
  return {
    ...{ type: "layers_scored", at: "2026-01-01T00:00:00.000Z", study_id, artifact_id: "original" },
    ...{ seed: 1, calibration_sha256: null, layers, ...more },
  };
}

async function withScores(records: Scored[], check: (store: Store) => Promise<void>) {
  await inDirectory(async (root) => {
    await using store = await recordedStore(root, records);
    await check(store);
  });
}

const original = { artifact_id: "original" };

Deno.test("layers are added up by part and format, the embedding and the head as one; other scorers and int8 count nothing", () =>
  withScores([
    scored("one", [
      layer(0, "4-bit-g64", 0.1),
      layer(1, "4-bit-g64", 0.2, { weight_bits: 8.5, size_bytes: 850 }),
      layer(0, "4-bit-g64", 9, { scorer: "fisher" }),
      layer(0, "int8-g64", 9),
      layer(2, "4-bit-g64", 0.01, { part: "embedding" }),
      layer(3, "4-bit-g64", 0.02, { part: "head" }),
    ]),
    scored("other", [layer(0, "4-bit-g64", 9)], { artifact_id: "another model" }),
  ], async (store) => {
    const found = await formatLosses(store, original, "next", { others: true });
    const [linear, embedding, ...more] = found;
    assert.equal(more.length, 0);
    assert.equal(linear!.part, "linear");
    assert.ok(Math.abs(linear!.kl - 0.3) < 1e-9);
    // 800 weights of 4.25 bits and as many of 8.5.
    assert.ok(Math.abs(linear!.weight_bits - 6.375) < 1e-9, String(linear!.weight_bits));
    assert.deepEqual([embedding!.part, embedding!.study_id], ["embedding", "one"]);
    assert.ok(Math.abs(embedding!.kl - 0.03) < 1e-9);
  }));

Deno.test("a study takes its own scores, else the newest, and none of others where it wants none", () =>
  withScores([
    scored("own", [layer(0, "4-bit-g64", 0.1)]),
    scored("before", [layer(0, "4-bit-g64", 0.2)]),
    scored("newest", [layer(0, "4-bit-g64", 0.3), layer(0, "8-bit-g64", 0)], {
      at: "2027-01-01T00:00:00.000Z",
    }),
    scored("imported", [layer(0, "4-bit-g64", 0.4)], {
      imported: { program: "AutoScheme", path: "scores.json", sha256: "" },
    }),
  ], async (store) => {
    const by = async (study_id: string, others: boolean) =>
      (await formatLosses(store, original, study_id, { others })).map(({ kl }) => kl);
    assert.deepEqual(await by("own", true), [0.1]);
    assert.deepEqual(await by("own", false), [0.1]);
    assert.deepEqual(await by("next", true), [0.3, 0], "the same bits, by their names");
    assert.deepEqual(await by("next", false), []);
  }));
