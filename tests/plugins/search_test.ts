import assert from "node:assert/strict";
import {
  checkStrategy,
  inferSpec,
  makeRegistry,
  type Sampler,
  seededRandom,
  strategyKey,
  type Trial,
} from "../../core/mod.ts";
import auto from "../../plugins/search/auto.ts";
import bandit from "../../plugins/search/bandit.ts";
import evolution from "../../plugins/search/evolution.ts";
import pareto from "../../plugins/search/pareto_neighbourhood.ts";
import random from "../../plugins/search/random.ts";
import surrogate from "../../plugins/search/surrogate.ts";
import tpe from "../../plugins/search/tpe.ts";
import { methods, plugins, request, round } from "../core/spec_fixtures.ts";
import {
  baseline,
  context,
  facts,
  only,
  proposals,
  proposed,
  recipe,
  run,
  trial,
} from "./search_fixtures.ts";

const samplers: readonly Sampler[] = [
  ...[random, pareto, bandit, evolution],
  ...[tpe, surrogate, auto],
];

for (const sampler of samplers) {
  Deno.test(`${sampler.name} proposes only recipes that can run here, and never one twice`, () => {
    const trials = run(sampler, 80, context({ trials: [baseline] }));
    assert.equal(trials.length, 81);
    const recipes = trials.slice(1);
    for (const { actions } of recipes) {
      assert.deepEqual(checkStrategy(actions, methods, facts), { ok: true });
    }
    assert.equal(new Set(recipes.map(({ actions }) => strategyKey(actions))).size, 80);
    assert.ok(recipes.every(({ actions }) => actions.every((a) => a.method !== "gpu_only")));
  });

  Deno.test(`${sampler.name} repeats itself for the same numbers, and by chance not for others`, () => {
    const keys = (seed: number) =>
      run(sampler, 12, context({ random: seededRandom(seed), seed })).map((t) =>
        strategyKey(t.actions)
      );
    assert.deepEqual(keys(5), keys(5));
    assert.notDeepEqual(keys(5), keys(6));
  });

  Deno.test(`${sampler.name} keeps nothing between two askings, so that a resumed study repeats it`, () => {
    const history = run(sampler, 14, context({ trials: [baseline] }));
    const ask = (trials: Trial[]) => {
      const front = trials.map(({ trial_id }) => trial_id);
      return proposed(sampler, context({ trials, front, random: seededRandom(15) }));
    };
    const answer = ask(history);
    ask(history.slice(0, 4));
    assert.deepEqual(ask(structuredClone(history)), answer);
  });

  Deno.test(`${sampler.name} returns null when everything was tried`, () => {
    assert.equal(run(sampler, 5, context({}, only("octet"))).length, 1);
    // 4 widths of the linear layers, of the embedding or of both; and behind each of the linear
    // ones 4 embedding actions, one a width.
    const where = { ...facts, model: { ...facts.model, group_sizes: [64] } };
    const { symmetric: _, ...knobs } = round.knobs;
    const own = [{ agent: "shrinking", method: { ...round, knobs } }];
    assert.equal(run(sampler, 100, context({ facts: where }, own)).length, 3 * 4 + 4 * 4);
  });

  Deno.test(`${sampler.name} returns null where the study may use no method`, () => {
    assert.equal(proposed(sampler, { ...context(), methods: [] }), null);
  });

  Deno.test(`${sampler.name} keeps to the methods that the spec supports`, () => {
    const asked = request({ methods: ["solve"] });
    const spec = inferSpec(asked, facts, plugins);
    const trials = run(sampler, 20, context({ spec }));
    assert.ok(trials.length === 20 && trials.every((t) => t.actions[0]?.method === "solve"));
  });

  Deno.test(`${sampler.name} does not come back to what was invalid, stopped or failed`, () => {
    const bad = trial(1, recipe(["octet"]), {
      state: "invalid",
      failure: { kind: "invalid", message: "", hint: null, phase: null },
    });
    const nan = { ...bad, state: "failed", failure: { ...bad.failure!, kind: "not_a_number" } };
    for (const tried of [bad, nan as Trial, trial(1, recipe(["octet"]), { state: "stopped" })]) {
      assert.equal(proposed(sampler, context({ trials: [tried] }, only("octet"))), null);
    }
  });

  Deno.test(`${sampler.name} tries once more, and only once, what a stall ended`, () => {
    const stalled = trial(1, recipe(["octet"]), {
      state: "failed",
      failure: { kind: "stall", message: "", hint: null, phase: null },
    });
    const again = proposed(sampler, context({ trials: [stalled] }, only("octet")));
    assert.equal(again?.actions[0]?.method, "octet");
    const twice = [stalled, { ...stalled, trial_id: "t2", number: 2 }];
    assert.equal(proposed(sampler, context({ trials: twice }, only("octet"))), null);
  });

  Deno.test(`${sampler.name} knows a recipe again that never got as far as being resolved`, () => {
    const unresolved = trial(1, recipe(["octet"]), { actions: [], state: "invalid" });
    assert.equal(proposed(sampler, context({ trials: [unresolved] }, only("octet"))), null);
  });

  Deno.test(`${sampler.name} is a plugin that its file names`, () => {
    const path = `search/${sampler.name}.ts`;
    assert.equal(makeRegistry([{ path, plugin: sampler }]).sampler(sampler.name), sampler);
  });
}

Deno.test("random writes down what it drew and leaves defaults out", () => {
  for (const { actions, origin } of proposals(random, {})) {
    assert.equal(origin.mode, "explore");
    for (const { method, params } of actions) {
      const knobs = methods.find((one) => one.method.name === method)!.method.knobs;
      for (const [name, value] of Object.entries(params)) {
        assert.notEqual(value, knobs[name]?.default);
      }
    }
  }
});

Deno.test("random draws every usable method and adds an action on the embedding at times", () => {
  const drawn = proposals(random, {});
  const first = new Set(drawn.map(({ actions }) => actions[0]?.method));
  assert.deepEqual([...first].sort(), ["octet", "round", "solve", "tune"]);
  const two = drawn.filter(({ actions }) => actions.length === 2);
  assert.ok(two.length > 5 && two.length < 55);
  assert.ok(two.every(({ actions }) => actions[1]?.params["targets"] === "embedding"));
});
