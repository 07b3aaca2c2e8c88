import assert from "node:assert/strict";
import {
  bitsLeft,
  findMethod,
  resolveActions,
  type ResolvedAction,
  type SearchContext,
  seededRandom,
} from "../../core/mod.ts";
import pareto from "../../plugins/search/pareto_neighbourhood.ts";
import { methods, thin } from "../core/spec_fixtures.ts";
import {
  baseline,
  context,
  facts,
  key,
  only,
  proposals,
  proposed,
  recipe,
  run,
  trial,
} from "./search_fixtures.ts";

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
    const proposal = proposed(pareto, context({ ...situation, random: exploiting(seed) }, own));
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
  const from = "one move from t01 on the front: ";
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
    "solve's own next step, bits 4 to 3",
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

/** Bits per weight that an action alone leaves in a part. */
function bitsOf(method: string, params: ResolvedAction["params"], part: "linear" | "embedding") {
  const { model } = findMethod(methods, "shrinking", method).method.leaves(params, facts);
  return bitsLeft(part, facts.model, model)!;
}

Deno.test("pareto_neighbourhood draws at most one width below what has held", () => {
  const bitsDrawn = (trials: SearchContext["trials"], part: "linear" | "embedding") =>
    new Set(
      proposals(pareto, { trials }, 150).flatMap(({ actions }) =>
        resolveActions(actions, methods, facts).filter(({ params }) =>
          (params["targets"] === "embedding") === (part === "embedding")
        ).map(({ method, params }) => Math.floor(bitsOf(method, params, part)))
      ),
    );
  assert.deepEqual(bitsDrawn([baseline], "linear"), new Set([8]));
  const eight = trial(
    1,
    recipe(["solve", { bits: 8 }], ["round", { targets: "embedding", bits: 8 }]),
  );
  assert.deepEqual([...bitsDrawn([baseline, eight], "linear")].sort(), [4, 8]);
  assert.deepEqual([...bitsDrawn([baseline, eight], "embedding")].sort(), [4, 8]);
  const three = trial(2, recipe(["solve", { bits: 3 }]));
  assert.deepEqual([...bitsDrawn([baseline, eight, three], "linear")].sort(), [2, 3, 4, 8]);
  const lost = trial(2, recipe(["solve", { bits: 3 }]), { state: "stopped" });
  assert.ok(!bitsDrawn([baseline, eight, lost], "linear").has(2));
});

Deno.test("pareto_neighbourhood takes the method's own next step from what lost too much", () => {
  const stopped = trial(1, recipe(["solve", { bits: 3 }]), { state: "stopped" });
  const found = moves({ trials: [stopped] }, 20, only("solve"));
  const reason = "one move from t01 which lost too much: solve's own next step, " +
    "bits 3 to 4";
  for (const { actions, origin } of found) {
    assert.equal(key(actions), key(recipe(["solve"])));
    assert.equal(origin.reason, reason);
  }
});

Deno.test("pareto_neighbourhood puts a method before another where their order lets it", () => {
  const own = [...only("solve"), { agent: "shrinking", method: thin }];
  const drawn = proposals(pareto, { trials: [] }, 60, own).map(({ actions }) =>
    actions.map(({ method }) => method).join("+")
  );
  assert.ok(drawn.includes("thin+solve") && drawn.includes("solve"), drawn.join(" "));
  assert.ok(!drawn.some((names) => /solve\+thin|thin\+thin|solve\+solve/.test(names)));
});

Deno.test("pareto_neighbourhood goes on exploring where the front's neighbourhood is used up", () => {
  const trials = run(pareto, 60, context({ trials: [member] }, only("solve")));
  assert.ok(trials.length > 40);
});
