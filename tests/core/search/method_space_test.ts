/** The space of recipes that follows from what methods declare, and the way to it and back. */
import assert from "node:assert/strict";
import {
  type Action,
  type AgentMethod,
  boundedMethods,
  checkPoint,
  checkStrategy,
  choice,
  defineMethod,
  type Facts,
  flag,
  integer,
  methodSpace,
  randomPoint,
  real,
  resolveActions,
  seededRandom,
  strategyKey,
} from "../../../core/mod.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { leavesBits, methods, octet, round, smallFacts, solve, thin } from "../spec_fixtures.ts";

const facts = smallFacts();
const agent = "shrinking";
const own = (...some: (typeof round)[]): AgentMethod[] => some.map((method) => ({ agent, method }));
const recipe = (...steps: [string, Action["params"]?][]): Action[] =>
  steps.map(([method, params = {}]) => ({ agent, method, params }));

const space = methodSpace(own(octet, round, solve, thin), facts);
const dimension = (name: string, where = space) =>
  where.dimensions.find((one) => one.name === name)!;

function there(actions: Action[], where = space, all = own(octet, round, solve, thin)) {
  return where.pointOf(resolveActions(actions, all, facts));
}

Deno.test("slots follow from effects and parts, in the order of a chain", () => {
  const slots = space.dimensions.filter(({ when }) => when === undefined);
  assert.deepEqual(slots.map(({ name, choices }) => [name, choices]), [
    ["prunes", ["none", "shrinking/thin"]],
    ["rounds", ["none", "shrinking/octet", "shrinking/round", "shrinking/solve"]],
    ["rounds embedding", ["none", "shrinking/round"]],
  ]);
  assert.deepEqual(dimension("rounds.targets").choices, ["linear", "both"]);
  assert.equal(dimension("rounds embedding.targets"), undefined, "only one value is left to it");
});

Deno.test("knobs that methods declare alike are one dimension, others are not", () => {
  const both = { name: "rounds", is: ["shrinking/round", "shrinking/solve"] };
  assert.deepEqual(dimension("rounds.bits").when, both);
  assert.equal(dimension("rounds.bits").kind, "ordinal");
  assert.deepEqual(dimension("rounds.damping").when, { name: "rounds", is: ["shrinking/solve"] });
  assert.equal(dimension("rounds.damping").log, true);
  const other = choice([2, 4], { default: 4, unit: "bits", description: "fewer of them" });
  const own_bits = { ...solve, knobs: { ...solve.knobs, bits: other } };
  const apart = methodSpace(own(round, own_bits), facts);
  assert.deepEqual(dimension("rounds.bits", apart).when!.is, ["shrinking/round"]);
  assert.deepEqual(dimension("rounds.shrinking/solve.bits", apart).choices, [2, 4]);
});

Deno.test("a negative size stands for all there is, and comes last", () => {
  const sizes = choice([-1, 16, 64], { default: 64, unit: "weights", description: "a scale" });
  const grouped = { ...octet, knobs: { sizes } };
  assert.deepEqual(dimension("rounds.sizes", methodSpace(own(grouped), facts)).choices, [
    16,
    64,
    -1,
  ]);
});

Deno.test("a knob counts only where the method says, and stands at its default elsewhere", () => {
  const share = real({
    minimum: 0,
    maximum: 1,
    default: 0.5,
    unit: "1",
    description: "of the weights",
    only_where: { knob: "anywhere", is: [true] },
  });
  const anywhere = flag({ default: true, description: "no pattern" });
  const all = own({ ...thin, knobs: { share, anywhere } });
  const where = methodSpace(all, facts);
  assert.deepEqual(dimension("prunes.share", where).when, { name: "prunes.anywhere", is: [true] });
  const names = where.dimensions.map(({ name }) => name);
  assert.ok(names.indexOf("prunes.anywhere") < names.indexOf("prunes.share"));
  const point = { "prunes": "shrinking/thin", "prunes.anywhere": false };
  assert.equal(checkPoint(where, point), null);
  assert.deepEqual(where.actionsOf(point), recipe(["thin", { anywhere: false }]));
  // What does not count is no reason to have no place.
  const odd = there(recipe(["thin", { anywhere: false, share: 0.9 }]), where, all);
  assert.deepEqual(odd, { point });
});

Deno.test("a knob that counts windows goes no further than the study has", () => {
  const samples = integer({
    ...{ minimum: 1, maximum: 512, default: 16, log: true, unit: "windows", description: "read" },
    takes: "windows",
  });
  const calibrated = { ...solve, knobs: { samples } };
  const few = { windows: 8, tokens: 64 };
  const bounded = boundedMethods(own(calibrated), { calibration: few, training: few });
  const { maximum, default: usual } = dimension("rounds.samples", methodSpace(bounded, facts));
  assert.deepEqual([maximum, usual], [8, 8]);
});

Deno.test("recipes have a point each and come back from it the same", () => {
  const some = [
    recipe(["octet"]),
    recipe(["round", { bits: 2, targets: "both", symmetric: false }]),
    recipe(["round", { targets: "embedding", bits: 8 }]),
    recipe(["thin", { share: 0.3 }], ["solve", { damping: 0.05 }], ["round", {
      targets: "embedding",
    }]),
    recipe(["round"], ["round", { targets: "embedding", group_size: 32 }]),
  ];
  const keys = new Set<string>();
  for (const actions of some) {
    const place = there(actions);
    assert.ok("point" in place, JSON.stringify(place));
    assert.equal(checkPoint({ dimensions: space.dimensions }, place.point), null);
    assert.deepEqual(space.actionsOf(place.point), actions);
    keys.add(JSON.stringify(place.point));
  }
  assert.equal(keys.size, some.length);
});

Deno.test("a recipe that fits no slots is told why", () => {
  const why = (actions: Action[], where = space) => {
    const place = there(actions, where);
    assert.ok("reason" in place);
    return place.reason;
  };
  assert.match(why(recipe(["octet"], ["thin"])), /thin has no place there, or none so late/);
  assert.match(why(recipe(["octet"], ["solve"])), /solve has no place/);
  assert.match(why(recipe(["solve"]), methodSpace(own(octet), facts)), /solve has no place/);
  const narrow = choice([3, 4], { default: 4, unit: "bits", description: "a weight" });
  const less = methodSpace(own({ ...solve, knobs: { ...solve.knobs, bits: narrow } }), facts);
  assert.match(why(recipe(["solve", { bits: 8 }]), less), /rounds.bits is 8: it is one of 3, 4/);
});

Deno.test("what cannot be is forbidden with its reason, before any work", () => {
  const point = (actions: Action[]) => {
    const place = there(actions);
    assert.ok("point" in place);
    return place.point;
  };
  const why = (actions: Action[]) => space.forbidden(point(actions));
  assert.equal(why(recipe(["thin"], ["solve"])), null);
  const nothing = { prunes: "none", rounds: "none", "rounds embedding": "none" };
  assert.match(space.forbidden(nothing)!, /at least one action/);
  assert.match(why(recipe(["solve", { group_size: 128 }]))!, /groups of 128 do not divide/);
  const twice = recipe(["round", { targets: "both" }], ["round", { targets: "embedding" }]);
  assert.match(why(twice)!, /it rounds floats, once/);
  const tight = methodSpace(own(octet), facts, { max_vram_gb: 0.01 });
  assert.match(tight.forbidden({ rounds: "shrinking/octet" })!, /memory limit/);
  const throwing = {
    ...octet,
    accepts: () => {
      throw new Error("lost its head");
    },
  };
  const broken = methodSpace(own(throwing), facts);
  assert.equal(broken.forbidden({ rounds: "shrinking/octet" }), "lost its head");
});

Deno.test("a method that changes the embedding by default has its place there", () => {
  const outer = defineMethod({
    ...octet,
    name: "outer",
    knobs: {},
    leaves: (_params, where) => leavesBits(["embedding"], 8, where),
  });
  const where = methodSpace(own(outer), facts);
  assert.deepEqual(where.dimensions.map(({ name }) => name), ["rounds embedding"]);
});

Deno.test("without methods there is one point, and it is forbidden", () => {
  const empty = methodSpace([], facts);
  assert.deepEqual(empty.dimensions, []);
  assert.notEqual(checkPoint(empty, {}), null);
});

Deno.test("recipes drawn at random are short", () => {
  const random = seededRandom(3);
  const lengths = Array.from(
    { length: 300 },
    () => space.actionsOf(randomPoint(space, random)).length,
  );
  const mean = lengths.reduce((sum, one) => sum + one, 0) / lengths.length;
  assert.ok(mean > 1.7 && mean < 2.3, String(mean));
});

Deno.test("every method that is there has a place, and each of its first tries a point", async () => {
  const plugins = await discoverPlugins();
  const where = smallFacts();
  const { linear_parameters } = where.model;
  const whole: Facts = { ...where, model: { ...where.model, block_parameters: linear_parameters } };
  const all = methodSpace(plugins.methods, whole);
  for (const { agent, method } of plugins.methods) {
    const label = `${agent}/${method.name}`;
    assert.ok(
      all.dimensions.some(({ when, choices }) => when === undefined && choices!.includes(label)),
      `${label} has no place`,
    );
    for (const boldness of ["conservative", "balanced", "aggressive"] as const) {
      const params = method.seed(boldness, whole);
      if (params === null) continue;
      const resolved = resolveActions(
        [{ agent, method: method.name, params }],
        plugins.methods,
        whole,
      );
      const place = all.pointOf(resolved);
      assert.ok("point" in place, `${label}: ${JSON.stringify(place)}`);
      const again = resolveActions(all.actionsOf(place.point), plugins.methods, whole);
      assert.equal(strategyKey(again), strategyKey(resolved));
    }
  }
  const random = seededRandom(1);
  const open = Array.from({ length: 200 }, () => randomPoint(all, random))
    .filter((point) => all.forbidden(point) === null);
  assert.ok(open.length > 30, `${open.length} of 200 can run`);
  for (const point of open) {
    const resolved = resolveActions(all.actionsOf(point), plugins.methods, whole);
    assert.deepEqual(checkStrategy(resolved, plugins.methods, whole), { ok: true });
    const place = all.pointOf(resolved);
    assert.ok("point" in place, JSON.stringify(place));
    assert.equal(
      strategyKey(resolveActions(all.actionsOf(place.point), plugins.methods, whole)),
      strategyKey(resolved),
    );
  }
});

Deno.test("methods that only a GPU runs are for the study to leave out", () => {
  const names = methodSpace(methods, facts).dimensions.flatMap(({ choices = [] }) => choices);
  assert.ok(names.includes("shrinking/gpu_only"), "forbidden points say so");
});
