/** What a plan says of speeds against what others measured. */
import assert from "node:assert/strict";
import { plan } from "../../../../core/serving/plan/plan.ts";
import { configOf } from "./published.ts";
import { PUBLISHED_SPEEDS, type PublishedSpeed } from "./published_speeds.ts";

/** The speed that a plan of these cards says, at half its context kept on the way. */
function planned({ model, config, gpus, sequences, kept_tokens }: PublishedSpeed) {
  const found = plan({
    ...{ model, config: config ?? configOf(model), gpus, sequences, servers: [] },
    context: 2 * kept_tokens,
  });
  const { cards: { count }, plans } = found;
  const { speed } = plans.find((one) => one.tensor_parallel === count)!;
  return speed!;
}

/** Published over printed: 1 where both are the same. */
function share(one: PublishedSpeed): number {
  const speed = planned(one);
  const said = one.sequences === 1 ? speed.decode_tokens_per_second : speed.batch_tokens_per_second;
  return 1000 * one.sequences / one.step_ms / said;
}

for (const one of PUBLISHED_SPEEDS) {
  const { model, gpus, sequences, kept_tokens, source } = one;
  Deno.test(`speed of ${model} on ${gpus}, ${sequences} of ${kept_tokens} tokens, is within what is said: ${source}`, () => {
    const found = share(one);
    const { error } = planned(one);
    assert.ok(Math.abs(found - 1) <= error, `${found.toFixed(2)} of what is printed`);
  });
}

Deno.test("the error that is said is no wider than published runs need, and its middle is theirs", () => {
  const shares = PUBLISHED_SPEEDS.map(share).sort((a, b) => a - b);
  const { error, source } = planned(PUBLISHED_SPEEDS[0]!);
  assert.ok(shares[0]! < 1 - error + .2 && shares.at(-1)! > 1 + error - .2, shares.join(" "));
  const middle = shares[Math.floor(shares.length / 2)]!;
  assert.ok(Math.abs(middle - 1) < .15, `${middle}`);
  const setups = new Set(PUBLISHED_SPEEDS.map(({ model, gpus }) => `${model} ${gpus}`)).size;
  assert.match(source, new RegExp(`${shares.length} published steps of ${setups} set-ups`));
});
