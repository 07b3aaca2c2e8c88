import assert from "node:assert/strict";
import {
  type Action,
  type AgentMethod,
  checkStrategy,
  type Facts,
  inferSpec,
  makeRegistry,
  readableId,
  resolveActions,
  type Sampler,
  type SearchContext,
  seededRandom,
  strategyKey,
  type Trial,
} from "../../core/mod.ts";
import pareto from "../../plugins/search/pareto_neighbourhood.ts";
import random from "../../plugins/search/random.ts";
import { methods, plugins, request, round, smallFacts } from "../core/spec_fixtures.ts";

const facts = smallFacts();
const samplers: readonly Sampler[] = [random, pareto];
type Step = readonly [method: string, params?: Action["params"]];

const recipe = (...steps: Step[]): Action[] =>
  steps.map(([method, params]) => ({ agent: "shrinking", method, params: params ?? {} }));

function trial(
  number: number,
  actions: Action[],
  more: Partial<Trial> = {},
  own: readonly AgentMethod[] = methods,
): Trial {
  const resolved = resolveActions(actions, own, facts);
  return {
    trial_id: `t${number}`,
    study_id: "study",
    number,
    strategy: {
      strategy_id: readableId(number, resolved),
      actions,
      origin: { sampler: "test", mode: "seed", reason: "" },
    },
    actions: resolved,
    artifact_ids: [],
    state: "completed",
    fidelity: "full",
    failure: null,
    measurements: [],
    constraints: [],
    gates: [],
    reward: null,
    spans: [],
    seed: 0,
    started_at: "",
    finished_at: null,
    ...more,
  };
}

const baseline = { ...trial(0, recipe(["octet"])), strategy: null, actions: [] };

function context(more: Partial<SearchContext> = {}, own = methods): SearchContext {
  const spec = inferSpec(request(), more.facts ?? facts, { ...plugins, methods: own });
  return { facts, spec, methods: own, trials: [], front: [], random: seededRandom(1), ...more };
}

const only = (...names: string[]): AgentMethod[] =>
  methods.filter(({ method }) => names.includes(method.name));

const key = (actions: Action[], where: Facts = facts) =>
  strategyKey(resolveActions(actions, methods, where));

/** Proposes until nothing is left or `limit` is reached; every proposal becomes a trial. */
function run(sampler: Sampler, limit: number, start: SearchContext): Trial[] {
  const trials = [...start.trials];
  for (let i = 0; i < limit; i++) {
    const proposal = sampler.propose({ ...start, trials, front: trials.map((t) => t.trial_id) });
    if (proposal === null) break;
    trials.push(trial(trials.length + 1, proposal.actions, {}, start.methods));
  }
  return trials;
}

/** What the sampler proposes for many seeds in one and the same situation. */
function proposals(sampler: Sampler, situation: Partial<SearchContext>, n = 60, own = methods) {
  return Array.from({ length: n }, (_, seed) => {
    const proposal = sampler.propose(context({ ...situation, random: seededRandom(seed) }, own));
    assert.ok(proposal !== null);
    return proposal;
  });
}

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

  Deno.test(`${sampler.name} repeats itself for the same numbers and not for others`, () => {
    const keys = (seed: number) =>
      run(sampler, 12, context({ random: seededRandom(seed) })).map((t) => strategyKey(t.actions));
    assert.deepEqual(keys(5), keys(5));
    assert.notDeepEqual(keys(5), keys(6));
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
    assert.equal(sampler.propose({ ...context(), methods: [] }), null);
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
      failure: { kind: "invalid", message: "", hint: null, stage: null },
    });
    const nan = { ...bad, state: "failed", failure: { ...bad.failure!, kind: "not_a_number" } };
    for (const tried of [bad, nan as Trial, trial(1, recipe(["octet"]), { state: "stopped" })]) {
      assert.equal(sampler.propose(context({ trials: [tried] }, only("octet"))), null);
    }
  });

  Deno.test(`${sampler.name} tries once more, and only once, what a stall ended`, () => {
    const stalled = trial(1, recipe(["octet"]), {
      state: "failed",
      failure: { kind: "stall", message: "", hint: null, stage: null },
    });
    const again = sampler.propose(context({ trials: [stalled] }, only("octet")));
    assert.equal(again?.actions[0]?.method, "octet");
    const twice = [stalled, { ...stalled, trial_id: "t2", number: 2 }];
    assert.equal(sampler.propose(context({ trials: twice }, only("octet"))), null);
  });

  Deno.test(`${sampler.name} knows a recipe again that never got as far as being resolved`, () => {
    const unresolved = trial(1, recipe(["octet"]), { actions: [], state: "invalid" });
    assert.equal(sampler.propose(context({ trials: [unresolved] }, only("octet"))), null);
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

const member = trial(1, recipe(["solve", { bits: 4, group_size: 32 }]));
const onFront = { trials: [baseline, member], front: ["t0", "t1"] };

const exploits = (situation: Partial<SearchContext>, n: number) =>
  proposals(pareto, situation, n).filter(({ origin }) => origin.mode === "exploit");

/** Numbers that decide to exploit, then those of the seed. */
function exploiting(seed: number): () => number {
  const rest = seededRandom(seed);
  let first = true;
  return () => first ? (first = false, 0.999) : rest();
}

/** What it proposes for many seeds where it decides to exploit. */
function moves(situation: Partial<SearchContext>, n = 100, own = methods) {
  return Array.from({ length: n }, (_, seed) => {
    const proposal = pareto.propose(context({ ...situation, random: exploiting(seed) }, own));
    assert.ok(proposal !== null);
    return proposal;
  });
}

Deno.test("pareto_neighbourhood explores while there is no front", () => {
  assert.ok(moves({}).every(({ origin }) => origin.mode === "explore"));
  const alone = moves({ trials: [baseline], front: ["t0"] });
  assert.ok(alone.every(({ origin }) => origin.mode === "explore"));
});

Deno.test("pareto_neighbourhood moves one step from the front, and says from where and what", () => {
  const changes = new Set(moves(onFront).map(({ origin }) => origin.reason));
  const from = "one move from s01-solve-4bit-g32 on the front: ";
  const seen = [...changes].map((reason) => {
    assert.ok(reason.startsWith(from), reason);
    return reason.slice(from.length);
  });
  assert.deepEqual(seen.sort(), [
    "solve bits 4 to 3",
    "solve bits 4 to 8",
    "solve damping 0.01 to 0.005",
    "solve damping 0.01 to 0.02",
    "solve group_size 32 to 64",
    "solve to round at the same bits",
    "solve to tune at the same bits",
    "the embedding by round too",
  ]);
});

Deno.test("pareto_neighbourhood carries knobs over to the method that it swaps in", () => {
  const swaps = moves(onFront).filter(({ origin }) => origin.reason.includes("to tune"));
  assert.ok(swaps.length > 0);
  for (const { actions } of swaps) assert.deepEqual(actions, recipe(["tune", { group_size: 32 }]));
});

Deno.test("pareto_neighbourhood passes over a member whose method has changed its knobs since", () => {
  const { damping: _, ...knobs } =
    methods.find(({ method }) => method.name === "solve")!.method.knobs;
  const own = methods.map((one) =>
    one.method.name === "solve" ? { ...one, method: { ...one.method, knobs } } : one
  );
  assert.ok(moves(onFront, 20, own).every(({ origin }) => origin.mode === "explore"));
});

Deno.test("pareto_neighbourhood removes the embedding's action as it adds it", () => {
  const both = trial(1, recipe(["solve"], ["round", { targets: "embedding", bits: 8 }]));
  const removed = moves({ trials: [both], front: ["t1"] }).filter(({ origin }) =>
    origin.reason.endsWith("left whole")
  );
  assert.ok(removed.length > 0);
  for (const { actions } of removed) assert.equal(key(actions), key(recipe(["solve"])));
});

Deno.test("pareto_neighbourhood explores less as recipes add up", () => {
  const share = (n: number) => {
    const widths = [2, 3, 4, 8];
    const trials = Array.from(
      { length: n },
      (_, i) => trial(i + 1, recipe(["tune", { bits: widths[i % 4]!, steps: 8 + i }])),
    );
    return exploits({ trials: [baseline, ...trials], front: ["t1"] }, 100).length / 100;
  };
  const [few, some, many] = [share(1), share(8), share(30)];
  assert.ok(few < 0.25 && some > few && many > some && many > 0.8, `${few} ${some} ${many}`);
});

Deno.test("pareto_neighbourhood starts from better members more often, from all at times", () => {
  const trials = [1, 2, 3].map((n) => trial(n, recipe(["tune", { steps: 50 * n }])));
  const found = moves({ trials, front: ["t2", "t3", "t1"] }, 200);
  const from = (steps: number) =>
    found.filter(({ actions }) => actions.some((a) => a.params["steps"] === steps)).length;
  assert.ok(from(100) > from(150) && from(150) > from(50) && from(50) > 0);
});

Deno.test("pareto_neighbourhood draws methods that were seldom tried more often", () => {
  const trials = Array.from(
    { length: 9 },
    (_, i) => trial(i + 1, recipe(["tune", { steps: 8 + i }])),
  );
  const drawn = proposals(pareto, { trials }, 200).map(({ actions }) => actions[0]?.method);
  const count = (name: string) => drawn.filter((method) => method === name).length;
  assert.ok(count("tune") * 3 < count("solve"), `${count("tune")} against ${count("solve")}`);
});

Deno.test("pareto_neighbourhood does not draw fewer bits than a gate has refused", () => {
  const stopped = trial(1, recipe(["solve", { bits: 4 }]), { state: "stopped" });
  const own = only("solve");
  for (const { actions } of proposals(pareto, { trials: [stopped] }, 60, own)) {
    const { bits = 4, group_size = 64 } = actions[0]!.params;
    assert.ok(Number(bits) + 16 / Number(group_size) > 4.25, JSON.stringify(actions));
  }
});

Deno.test("pareto_neighbourhood goes on exploring where the front's neighbourhood is used up", () => {
  const trials = run(pareto, 60, context({ trials: [member] }, only("solve")));
  assert.ok(trials.length > 40);
});
