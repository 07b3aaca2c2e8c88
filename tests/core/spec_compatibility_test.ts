import assert from "node:assert/strict";
import {
  type Action,
  type AgentMethod,
  checkStrategy,
  type Method,
  predictBytes,
  readableId,
  resolveActions,
  strategyKey,
} from "../../core/mod.ts";
import { largeFacts, methods, round, smallFacts, thin } from "./spec_fixtures.ts";

const facts = smallFacts();
type Step = readonly [method: string, params?: Action["params"]];

const resolved = (...steps: Step[]) =>
  resolveActions(
    steps.map(([method, params]) => ({ agent: "shrinking", method, params: params ?? {} })),
    methods,
    facts,
  );

/** The reason for which a recipe is refused; "" where it may run. */
function reason(steps: Step[], where = facts, limits = {}): string {
  const verdict = checkStrategy(resolved(...steps), methods, where, limits);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("checkStrategy() lets a recipe through whose actions change different parts", () => {
  assert.equal(reason([["solve"], ["round", { targets: "embedding", bits: 8 }]]), "");
});

Deno.test("checkStrategy() takes several forms of one part for one change of it", () => {
  const mixing = methods.map((entry) => {
    if (entry.method.name !== "solve") return entry;
    const leaves: Method["leaves"] = (params, where) => {
      const { changes, model } = entry.method.leaves(params, where);
      return { changes: [...changes, ...changes], model };
    };
    return { ...entry, method: { ...entry.method, leaves } };
  });
  assert.deepEqual(checkStrategy(resolved(["solve"]), mixing, facts), { ok: true });
  assert.equal(checkStrategy(resolved(["solve"], ["round"]), mixing, facts).ok, false);
});

Deno.test("checkStrategy() refuses an action that may not follow another on one part, and says why", () => {
  assert.equal(
    reason([["solve"], ["round"]]),
    "round cannot follow on the linear weights that solve has rounded: it rounds floats, once",
  );
  assert.match(
    reason([["round", { targets: "embedding" }], ["round", { targets: "both" }]]),
    /embedding weights that round has rounded/,
  );
});

Deno.test("checkStrategy() lets a setting follow weights, and nothing follow a setting", () => {
  const order = {
    effect: "caches",
    follows: [],
    precedes: [],
    reason: "it takes it whole",
  } as const;
  const keep: Method = {
    ...thin,
    name: "keep",
    order,
    leaves: (_params, { model }) => ({
      changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
      model,
    }),
  };
  const own = [...methods, { agent: "shrinking", method: keep }];
  const of = (...names: string[]) => {
    const actions = names.map((method) => ({ agent: "shrinking", method, params: {} }));
    const verdict = checkStrategy(resolveActions(actions, own, facts), own, facts);
    return verdict.ok ? "" : verdict.reason;
  };
  assert.equal(of("round", "keep"), "");
  assert.equal(
    of("keep", "round"),
    "round cannot follow keep, which leaves a setting and no weights: a setting is the last of a " +
      "strategy",
  );
  assert.match(of("keep", "keep"), /it takes it whole$/);
});

Deno.test("checkStrategy() holds both to what they may follow and precede", () => {
  const own = [...methods, { agent: "shrinking", method: thin }];
  const of = (...names: string[]) => {
    const actions = names.map((method) => ({ agent: "shrinking", method, params: {} }));
    const verdict = checkStrategy(resolveActions(actions, own, facts), own, facts);
    return verdict.ok ? "" : verdict.reason;
  };
  assert.equal(of("thin", "round"), "");
  assert.equal(
    of("round", "thin"),
    "thin cannot follow on the linear weights that round has rounded: it counts floats",
  );
  assert.match(of("thin", "round", "solve"), /solve cannot follow .* that round has rounded/);
  const last = { ...thin, order: { ...thin.order, precedes: [] } };
  own[own.length - 1] = { agent: "shrinking", method: last };
  assert.equal(
    of("thin", "round"),
    "round cannot follow on the linear weights that thin has pruned: thin comes last there: it " +
      "counts floats",
  );
});

Deno.test("checkStrategy() passes on a method's own reason for refusing parameters", () => {
  assert.equal(reason([["solve", { group_size: 128 }]]), "groups of 128 do not divide the rows");
});

Deno.test("checkStrategy() refuses a method that needs a GPU where there is none", () => {
  assert.match(reason([["gpu_only"]]), /gpu_only needs a GPU: there is none here/);
  assert.equal(reason([["gpu_only"]], largeFacts()), "");
});

Deno.test("checkStrategy() refuses what needs more memory than is free, with both figures", () => {
  const full = { ...facts, device: { ...facts.device, free_memory_gb: 0.4 } };
  assert.match(reason([["solve"]], full), /needs about 0.54 GB of memory .*: 0.40 GB are free/);
  const large = largeFacts();
  const busy = { ...large, device: { ...large.device, free_vram_gb: 12 } };
  assert.match(reason([["solve"]], busy), /needs about 32 GB of GPU memory .*: 12 GB are free/);
  const mute = { ...large, device: { ...large.device, free_vram_gb: null, vram_gb: null } };
  assert.equal(reason([["solve"]], mute), "");
});

Deno.test("checkStrategy() refuses weights that cannot fit the memory they are for", () => {
  assert.equal(reason([["octet"]], facts, { max_vram_gb: 0.2 }), "");
  assert.match(reason([["octet"]], facts, { max_vram_gb: 0.1 }), /0.16 GB.*limit is 0.1 GB/);
  assert.equal(
    reason([["solve"], ["round", { targets: "embedding" }]], facts, {
      max_vram_gb: 0.1,
    }),
    "",
  );
  assert.equal(reason([["octet"]], facts, { max_vram_gb: null }), "");
});

Deno.test("checkStrategy() refuses a recipe of nothing", () => {
  assert.equal(reason([]), "a strategy needs at least one action");
});

Deno.test("predictBytes() counts each part at the bits of the action that changed it", () => {
  const { linear_parameters: linear, embedding_parameters: embedding } = facts.model;
  const near = (steps: Step[], bytes: number) =>
    assert.ok(Math.abs(predictBytes(resolved(...steps), methods, facts) - bytes) < 1, `${bytes}`);
  near([], facts.model.fp16_bytes);
  near([["octet"]], linear + 2 * embedding);
  near([["round", { targets: "both", bits: 8 }]], (linear + embedding) * 8.25 / 8);
  near(
    [["solve"], ["round", { targets: "embedding", bits: 8 }]],
    linear * 4.25 / 8 + embedding * 8.25 / 8,
  );
});

Deno.test("predictBytes() counts what is neither linear nor embedding at 16 bits", () => {
  const norms = { ...facts, model: { ...facts.model, parameters: facts.model.parameters + 5000 } };
  const more = predictBytes(resolved(["octet"]), methods, norms) -
    predictBytes(resolved(["octet"]), methods, facts);
  assert.equal(Math.round(more), 10_000);
});

Deno.test("strategyKey() does not depend on the order in which knobs are written", () => {
  const key = (params: Action["params"]) => strategyKey([{ agent: "a", method: "m", params }]);
  assert.equal(key({ bits: 4, group_size: 32 }), key({ group_size: 32, bits: 4 }));
});

Deno.test("strategyKey() is equal for recipes that do the same and for those alone", () => {
  const key = (...steps: Step[]) => strategyKey(resolved(...steps));
  assert.equal(key(["round", { bits: 4, group_size: 64 }]), key(["round"]));
  assert.equal(
    key(["round", { bits: 3, targets: "both" }]),
    key(["round", { targets: "both", bits: 3 }]),
  );
  assert.notEqual(key(["round", { bits: 3 }]), key(["round"]));
  assert.notEqual(key(["solve"], ["octet"]), key(["octet"], ["solve"]));
});

Deno.test("readableId() shows the method and the words of its label", () => {
  const actions = resolved(["solve"], ["round", { targets: "embedding", bits: 8 }]);
  assert.equal(readableId(3, actions), "s03-solve-4bit-g64+round-embedding-8bit-g64");
  assert.equal(readableId(12, resolved(["octet"])), "s12-octet");
  assert.equal(readableId(7, [{ method: "mixed", label: ["4.25-bit"] }]), "s07-mixed-4.25bit");
  assert.equal(readableId(8, [{ method: "kept", label: ["4+28"] }]), "s08-kept-4-28");
  const channel = { method: "round_to/nearest", label: ["8-bit", "a channel"] };
  assert.equal(readableId(120, [channel]), "s120-round-to-nearest-8bit-achannel");
});

Deno.test("an action is checked against the model that those before it leave", () => {
  // A first action that leaves rows of 96 weights: groups of 64 do not divide them any more.
  const narrows: AgentMethod = {
    agent: "shrinking",
    method: {
      ...thin,
      name: "narrow",
      order: { ...thin.order, effect: "resizes" },
      leaves: (_params, { model }) => ({
        changes: [{ part: "linear", effect: "resizes", form: null, least_cosine: null }],
        model: {
          ...model,
          group_sizes: [32],
          linear_parameters: model.linear_parameters / 2,
          parameters: model.parameters - model.linear_parameters / 2,
        },
      }),
    },
  };
  const rounds: AgentMethod = {
    agent: "shrinking",
    method: { ...round, order: { ...round.order, follows: ["resizes"] } },
  };
  const first = { ...narrows.method, order: { ...narrows.method.order, precedes: ["rounds"] } };
  const own = [{ agent: "shrinking", method: first as Method }, rounds];
  const recipe = (group_size: number) =>
    resolveActions(
      [
        { agent: "shrinking", method: "narrow", params: {} },
        { agent: "shrinking", method: "round", params: { bits: 4, group_size } },
      ],
      own,
      facts,
    );
  const refused = checkStrategy(recipe(64), own, facts);
  assert.match(refused.ok ? "" : refused.reason, /groups of 64 do not divide the rows/);
  assert.equal(checkStrategy(recipe(32), own, facts).ok, true);
  // Alone, on the baseline, groups of 64 are taken.
  assert.equal(checkStrategy(recipe(64).slice(1), own, facts).ok, true);
  const { linear_parameters, embedding_parameters, parameters } = facts.model;
  const rest = parameters - linear_parameters - embedding_parameters;
  const bytes = linear_parameters / 2 * (4 + 16 / 32) / 8 + 2 * embedding_parameters + 2 * rest;
  assert.equal(predictBytes(recipe(32), own, facts), bytes);
});
