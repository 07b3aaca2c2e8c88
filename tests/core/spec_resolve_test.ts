import assert from "node:assert/strict";
import {
  type Action,
  choice,
  resolveAction,
  resolveActions,
  ResolvedAction,
  UsageError,
  withOwnNames,
} from "../../core/mod.ts";
import { methods, smallFacts, solve } from "./spec_fixtures.ts";

const facts = smallFacts();

const resolve = (method: string, params: Action["params"] = {}, agent = "shrinking") =>
  resolveAction({ agent, method, params }, methods, facts);

/** The sentence that refuses the action. */
function refusal(...args: Parameters<typeof resolve>): string {
  try {
    resolve(...args);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error.message;
  }
  assert.fail("nothing was refused");
}

Deno.test("resolveAction() gives every knob a value and says who gave it", () => {
  const action = resolve("solve", { bits: 3, group_size: "auto" });
  assert.deepEqual(ResolvedAction.parse(action), action);
  assert.deepEqual(action.params, { bits: 3, group_size: 32, damping: 0.01 });
  assert.deepEqual(action.resolved.map(({ knob, by }) => [knob, by]), [
    ["bits", "user"],
    ["group_size", "method"],
    ["damping", "default"],
  ]);
  assert.equal(action.resolved[1]?.reason, "32 divides every row");
});

Deno.test('resolveAction() takes the default where the method has no rule for "auto", and says so', () => {
  const damping = resolve("solve", { damping: "auto" }).resolved[2];
  assert.equal(damping?.value, 0.01);
  assert.equal(damping?.by, "default");
  assert.match(damping?.reason ?? "", /no rule/);
});

Deno.test("resolveAction() asks a method for its choices only where one is wanted", () => {
  let asked = 0;
  const counting = { ...solve, auto: () => (asked++, {}) };
  const own = [{ agent: "shrinking", method: counting }];
  resolveAction({ agent: "shrinking", method: "solve", params: { bits: 4 } }, own, facts);
  assert.equal(asked, 0);
});

Deno.test("resolveAction() answers unknown names with the nearest", () => {
  assert.match(refusal("sovle"), /Unknown method of shrinking "sovle". Did you mean "solve"/);
  assert.match(refusal("solve", {}, "shrnking"), /Unknown family "shrnking". Did you mean/);
  assert.match(
    refusal("solve", { grup_size: 32 }),
    /Unknown knob of solve "grup_size". Did you mean "group_size"\? Known: bits, damping/,
  );
  assert.match(refusal("solve", { toString: 1 }), /Unknown knob of solve "toString"/);
});

Deno.test("resolveAction() says what a knob takes where a value does not fit", () => {
  assert.equal(
    refusal("solve", { group_size: 48 }),
    'Cannot use solve with group_size = 48 as group_size is one of 32, 64, 128 (weights), or "auto"',
  );
  assert.match(refusal("tune", { steps: 7 }), /steps is a whole number from 8 to 200 \(steps\)/);
  assert.match(refusal("tune", { steps: 20.5 }), /steps = 20.5/);
  assert.match(refusal("solve", { damping: "much" }), /"much" as damping is a number from 0.001/);
  assert.match(refusal("round", { symmetric: 1 }), /symmetric is true or false, or "auto"/);
});

Deno.test("resolveAction() reads a number in quotes as the mistake it is", () => {
  assert.match(refusal("round", { bits: "4" }), /bits = "4" as bits is one of 2, 3, 4, 8/);
});

Deno.test("resolveAction() blames the method whose own choice does not fit its knob", () => {
  const wrong = {
    ...solve,
    knobs: { bits: choice([4], { default: 4, unit: "bits", description: "a weight" }) },
    auto: () => ({ bits: { value: 5, reason: "none" } }),
  };
  const own = [{ agent: "shrinking", method: wrong }];
  assert.throws(
    () =>
      resolveAction({ agent: "shrinking", method: "solve", params: { bits: "auto" } }, own, facts),
    { name: "TypeError", message: /its own choice of bits does not fit the knob: it is 5/ },
  );
});

Deno.test("resolveActions() keeps the order of the recipe", () => {
  const recipe = ["tune", "round"].map((method) => ({ agent: "shrinking", method, params: {} }));
  const resolved = resolveActions(recipe, methods, facts);
  assert.deepEqual(resolved.map((one) => one.method), ["tune", "round"]);
});

Deno.test("a knob may be given by an alias, once, and is recorded by its own name", () => {
  const aliased = {
    ...solve,
    knobs: {
      bits: choice([4, 8], {
        ...{ default: 4, unit: "bits", description: "a weight", aliases: ["n_bits", "width"] },
      }),
    },
  };
  const own = [{ agent: "shrinking", method: aliased }];
  const given = (params: Action["params"]) => [{ agent: "shrinking", method: "solve", params }];
  const [action] = resolveActions(given({ n_bits: 8 }), own, facts);
  assert.deepEqual(action!.params, { bits: 8 });
  assert.deepEqual(action!.resolved, [{ knob: "bits", value: 8, by: "user", reason: null }]);
  assert.deepEqual(withOwnNames(given({ width: 8 }), own)[0]!.params, { bits: 8 });
  for (const params of [{ bits: 4, width: 8 }, { n_bits: 8, bits: 4 }]) {
    assert.throws(
      () => resolveActions(given(params), own, facts),
      /solve with bits given twice: bits and n_bits and width are one knob/,
    );
  }
  assert.throws(() => resolveActions(given({ width: 5 }), own, facts), /bits is one of 4, 8/);
  assert.throws(
    () =>
      resolveActions(
        JSON.parse('[{"agent":"shrinking","method":"solve","params":{"__proto__":1}}]'),
        own,
        facts,
      ),
    /Unknown knob of solve "__proto__"/,
  );
});
