import assert from "node:assert/strict";
import {
  type Action,
  type Change,
  checkStrategy,
  defineRuntime,
  heldMethods,
  methodVerdicts,
  resolveActions,
  type Runtime,
} from "../../core/mod.ts";
import { methods, type Packed, smallFacts } from "./spec_fixtures.ts";

const facts = smallFacts();

const runtimeOf = (holds: Runtime["holds"]) =>
  defineRuntime({
    name: "narrow",
    summary: "narrow",
    needs: { environment: "default", gpu: false },
    form: null,
    supports: () => ({ ok: true }),
    formats: "8 bits",
    holds,
    preference: 1,
  });

const narrow = runtimeOf(({ part, form }) => {
  const bits = Math.floor((form as Packed).bits);
  if (part !== "linear" || bits === 8) return { ok: true };
  return { ok: false, reason: `it takes 8 bits, not ${bits}` };
});

function reason(runtime: Runtime, method: string, params: Action["params"]): string {
  const held = heldMethods(methods, runtime);
  const actions = resolveActions([{ agent: "shrinking", method, params }], held, facts);
  const verdict = checkStrategy(actions, held, facts);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("heldMethods() refuses parameters whose result the runtime cannot hold, and says why", () => {
  assert.equal(
    reason(narrow, "round", { bits: 4 }),
    "its speed cannot be measured in narrow: it takes 8 bits, not 4",
  );
  assert.equal(reason(narrow, "round", { bits: 8 }), "");
});

Deno.test("heldMethods() asks for each part that the parameters change, and no other", () => {
  assert.equal(reason(narrow, "round", { bits: 4, targets: "embedding" }), "");
  assert.match(reason(narrow, "round", { bits: 4, targets: "both" }), /not 4/);
  const asked: Change[] = [];
  const listening = runtimeOf((change) => {
    asked.push(change);
    return { ok: true };
  });
  reason(listening, "round", { bits: 4, group_size: 32, targets: "embedding" });
  assert.deepEqual(asked, [{
    part: "embedding",
    effect: "rounds",
    form: { form: "packed", bits: 4.5 },
    least_cosine: 0.1,
  }]);
});

Deno.test("a method of which the runtime holds nothing is not supported, with the reason; one value is enough", () => {
  const none = runtimeOf(() => ({ ok: false, reason: "its graph keeps all keys and values" }));
  const round = methods.filter(({ method }) => method.name === "round");
  const [refused] = methodVerdicts(heldMethods(round, none), facts, [], undefined);
  assert.equal(refused!.supported, false);
  assert.equal(
    refused!.reason,
    "its speed cannot be measured in narrow: its graph keeps all keys and values",
  );
  assert.equal(round[0]!.method.knobs.bits!.default, 4);
  const [verdict] = methodVerdicts(heldMethods(round, narrow), facts, [], undefined);
  assert.equal(verdict!.supported, true);
});

Deno.test("heldMethods() keeps a method's own refusal", () => {
  const none = runtimeOf(() => ({ ok: false, reason: "nothing" }));
  const odd = { ...facts, model: { ...facts.model, group_sizes: [64] } };
  const held = heldMethods(methods, none);
  const actions = resolveActions(
    [{ agent: "shrinking", method: "round", params: { group_size: 32 } }],
    held,
    odd,
  );
  const verdict = checkStrategy(actions, held, odd);
  assert.equal(verdict.ok, false);
  assert.match(verdict.ok ? "" : verdict.reason, /groups of 32 do not divide/);
});

Deno.test("what a method says of a speed that does not come is left out where the runtime gains by it", () => {
  const sentence = "what is left out is computed all the same";
  const saying = methods.map(({ agent, method }) => ({
    agent,
    method: {
      ...method,
      leaves: (...given: Parameters<typeof method.leaves>) => {
        const { changes, model } = method.leaves(...given);
        return { model, changes: changes.map((one) => ({ ...one, no_faster: sentence })) };
      },
    },
  }));
  const said = (runtime: Runtime) => {
    const [action] = resolveActions(
      [{ agent: "shrinking", method: "round", params: { bits: 8, targets: "both" } }],
      saying,
      facts,
    );
    const { method } = heldMethods(saying, runtime).find(({ method }) => method.name === "round")!;
    return method.leaves(action!.params, facts).changes.map(({ part, no_faster }) =>
      `${part}: ${no_faster}`
    );
  };
  const plain = runtimeOf(() => ({ ok: true }));
  assert.deepEqual(said(plain), [`linear: ${sentence}`, `embedding: ${sentence}`]);
  const skipping = { ...plain, skips: ({ part }: Change) => part === "linear" };
  assert.deepEqual(said(skipping), ["linear: undefined", `embedding: ${sentence}`]);
});
