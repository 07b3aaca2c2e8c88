import assert from "node:assert/strict";
import { type PlainLoad, triedLoader } from "../../core/mod.ts";

const SOUND: PlainLoad = {
  loaded_by: "transformers 5.17.0",
  dtype: "bfloat16",
  problem: null,
  cosine: 0.9995,
  kl: 0.00123,
  tokens: 12,
};
const APPLIED = { loader: "transformers", notes: ["as it was"], activation_bits: null };

Deno.test("what the printed lines give as it was evaluated stays transformers', with its figure", () => {
  const { loader, notes } = triedLoader(APPLIED, SOUND);
  assert.equal(loader, "transformers");
  assert.deepEqual(notes, [
    "as it was",
    "by the plain load its logits in bfloat16 have a KL of 0.0012 nats per token from " +
    "those that are evaluated (12 tokens, transformers 5.17.0)",
  ]);
  const same = triedLoader(APPLIED, { ...SOUND, dtype: "float32", cosine: 1, kl: 2e-9 });
  assert.match(same.notes[1]!, /in float32 have a KL of below 1e-6 nats/);
});

Deno.test("an artifact that the printed lines load otherwise is pare's own loader's", () => {
  const faults: [Partial<PlainLoad>, RegExp][] = [
    [
      { dtype: "float16", problem: "its logits are not finite", cosine: null, kl: null },
      /in float16 its logits are not finite/,
    ],
    [
      { dtype: null, problem: "ValueError: no", cosine: null, kl: null },
      /evaluated: ValueError: no/,
    ],
    [{ cosine: 0.979 }, /in bfloat16 its logits have a cosine of 0\.9790 .*below 0\.99 /],
    [{ dtype: "float32", cosine: 0.9997 }, /0\.9997 .*below 0\.9999 /],
    [{ cosine: null }, /a cosine of no number/],
  ];
  for (const [change, said] of faults) {
    const { loader, notes } = triedLoader(APPLIED, { ...SOUND, ...change });
    assert.equal(loader, "pare");
    assert.match(notes[0]!, said);
    assert.match(notes[0]!, /load_dequantized$/);
    assert.deepEqual(notes.slice(1), APPLIED.notes);
  }
});

Deno.test("two roundings of inputs may part logits in float32 too", () => {
  const rounds = { ...APPLIED, activation_bits: 8 };
  assert.equal(triedLoader(rounds, { ...SOUND, dtype: "float32" }).loader, "transformers");
});

Deno.test("what was not tried stays as the call said", () => {
  for (const plain of [null, undefined]) {
    assert.deepEqual(triedLoader({ ...APPLIED, loader: "pare" }, plain), {
      loader: "pare",
      notes: APPLIED.notes,
    });
  }
});
