import assert from "node:assert/strict";
import {
  type Action,
  type AgentMethod,
  checkStrategy,
  defineRuntime,
  heldMethods,
  resolveActions,
  type Runtime,
  type WeightFormat,
} from "../../core/mod.ts";
import { methods, smallFacts } from "./spec_fixtures.ts";

const facts = smallFacts();

/** The methods of the fixtures; `round` says how it stores what it changes. */
const storing: AgentMethod[] = methods.map((entry) =>
  entry.method.name !== "round" ? entry : {
    ...entry,
    method: {
      ...entry.method,
      stores: ({ bits, group_size }) => ({
        bits: Number(bits),
        group_size: Number(group_size),
        symmetric: true,
        activation_group_size: null,
      }),
    },
  }
);

const runtimeOf = (holds: Runtime["holds"]) =>
  defineRuntime({
    name: "narrow",
    summary: "narrow",
    needs: { environment: "default", export_environment: null, gpu: false },
    loads: "checkpoint",
    supports: () => ({ ok: true }),
    formats: "8 bits",
    holds,
    preference: 1,
  });

const narrow = runtimeOf(({ part, bits }) =>
  part === "linear" && bits !== 8 ? { ok: false, reason: `it takes 8 bits, not ${bits}` } : {
    ok: true,
  }
);

function reason(runtime: Runtime, method: string, params: Action["params"]): string {
  const held = heldMethods(storing, runtime);
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
  const asked: WeightFormat[] = [];
  const listening = runtimeOf((format) => {
    asked.push(format);
    return { ok: true };
  });
  reason(listening, "round", { bits: 4, group_size: 32, targets: "embedding" });
  assert.deepEqual(asked, [{
    part: "embedding",
    bits: 4,
    group_size: 32,
    symmetric: true,
    activation_group_size: null,
  }]);
});

Deno.test("heldMethods() keeps a method's own refusal, and leaves one that does not say its format", () => {
  const none = runtimeOf(() => ({ ok: false, reason: "nothing" }));
  const odd = { ...facts, model: { ...facts.model, group_sizes: [64] } };
  const held = heldMethods(storing, none);
  const actions = resolveActions(
    [{ agent: "shrinking", method: "round", params: { group_size: 32 } }],
    held,
    odd,
  );
  const verdict = checkStrategy(actions, held, odd);
  assert.equal(verdict.ok, false);
  assert.match(verdict.ok ? "" : verdict.reason, /groups of 32 do not divide/);
  assert.equal(reason(none, "solve", {}), "");
});
