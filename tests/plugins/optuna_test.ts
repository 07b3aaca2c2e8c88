/** The sampler that asks Optuna: what it tells of a study, and what it makes of the answer. */
import assert from "node:assert/strict";
import {
  checkStrategy,
  type SearchContext,
  seededRandom,
  type Suggesting,
  type SuggestRequest,
} from "../../core/mod.ts";
import bandit from "../../plugins/search/bandit.ts";
import optuna from "../../plugins/search/optuna.ts";
import random from "../../plugins/search/random.ts";
import { historyOf, run, world } from "../core/study_world.ts";
import { methods } from "../core/spec_fixtures.ts";
import { baseline, context, facts, only, recipe, trial } from "./search_fixtures.ts";

type Point = Record<string, number | string | boolean>;

/** A library that answers with points of the space drawn by the request's seed. */
function library(answer = drawn): { asked: SuggestRequest[] } & Suggesting {
  const asked: SuggestRequest[] = [];
  return {
    asked,
    async suggest(request) {
      await Promise.resolve();
      asked.push(request);
      return { ok: true, value: { points: answer(request) }, spans: [] };
    },
  };
}

function drawn({ seed, dimensions, count }: SuggestRequest): Point[] {
  const next = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const point: Point = {};
    for (const { name, kind, choices, minimum, maximum, when } of dimensions) {
      if (when !== null && !(when.name in point && when.values.includes(point[when.name]!))) {
        continue;
      }
      const at = next();
      point[name] = choices !== null
        ? choices[Math.floor(at * choices.length)]!
        : kind === "integer"
        ? Math.floor(minimum! + at * (maximum! - minimum! + 1))
        : minimum! + at * (maximum! - minimum!);
    }
    return point;
  });
}

const ask = async (more: Partial<SearchContext>, own = methods) =>
  await optuna.propose(context(more, own));

Deno.test("Optuna is told the space, the directions and every trial, and its first possible point is taken", async () => {
  const { asked, suggest } = library();
  const trials = [baseline, trial(1, recipe(["octet"]), { state: "invalid" })];
  const answer = await ask({ suggest, trials });
  const [request] = asked;
  assert.deepEqual(request!.directions, ["maximize", "minimize", "minimize"]);
  assert.equal(request!.seen.length, 1);
  assert.deepEqual([request!.seen[0]!.state, request!.seen[0]!.values], ["infeasible", null]);
  const names = request!.dimensions.map(({ name }) => name);
  for (const { when } of request!.dimensions) {
    assert.ok(when === null || names.includes(when.name));
  }
  assert.deepEqual(
    checkStrategy(
      answer!.actions.map((one) => ({
        ...one,
        resolved: [],
        params: {
          ...Object.fromEntries(
            Object.entries(methods.find(({ method }) => method.name === one.method)!.method.knobs)
              .map(([name, knob]) => [name, knob.default]),
          ),
          ...one.params,
        },
      })),
      methods,
      facts,
    ),
    { ok: true },
  );
  assert.match(answer!.origin.reason, /^Optuna's TPE, told of 0 measured recipes of 1$/);
  assert.equal(answer!.origin.mode, "explore");
  JSON.stringify(request); // it goes over a wire
});

Deno.test("the same study asks with the same seed, another with another", async () => {
  const seedOf = async (seed: number) => {
    const { asked, suggest } = library();
    await ask({ suggest, random: seededRandom(seed) });
    return asked[0]!.seed;
  };
  assert.equal(await seedOf(1), await seedOf(1));
  assert.notEqual(await seedOf(1), await seedOf(2));
});

Deno.test("points that cannot be are told as such and passed over; where there are none else, nothing is proposed", async () => {
  const { asked, suggest } = library(({ count }) => Array(count).fill({ nonsense: 1 }));
  assert.equal(await ask({ suggest }), null);
  assert.equal(asked.length, 3);
  assert.equal(asked[2]!.seen.length, 2 * asked[0]!.count);
  assert.ok(asked[2]!.seen.every(({ state, values }) => state === "infeasible" && values === null));
});

Deno.test("without a library, without methods and where nothing can be searched it proposes nothing", async () => {
  assert.equal(await ask({}), null);
  const { suggest, asked } = library();
  assert.equal(await optuna.propose({ ...context({ suggest }), methods: [] }), null);
  assert.equal(asked.length, 0);
  const trials = [trial(1, recipe(["octet"]))];
  assert.equal(await ask({ suggest, trials }, only("octet")), null);
});

Deno.test("a worker that fails is told as the sampler's failure, and the others go on", async () => {
  const w = world({ max_trials: 5 });
  const failure = { kind: "crash" as const, message: "the worker ended", hint: null, phase: null };
  const libraries: Suggesting = {
    suggest: () => Promise.resolve({ ok: false, failure, spans: [] }),
  };
  const { trials } = await run({ ...w, ports: { ...w.ports, libraries } }, {
    samplers: [optuna, random],
  });
  assert.equal(trials.length, 6);
  const failures = w.records.flatMap((one) =>
    one.type === "proposed" && one.failure !== null ? [one.failure] : []
  );
  assert.ok(failures.length > 0 && failures.every((one) => /the worker ended/.test(one)));
});

Deno.test("recipes that the time left does not hold are passed over, by Optuna and by the bandit", async () => {
  const { suggest } = library();
  const slow = (actions: readonly { method: string }[]) =>
    actions.some(({ method }) => method !== "octet") ? 1000 : 1;
  const budget = { seconds_left: 60, trials_left: null, full_evaluations_left: 8 };
  for (const seed of [1, 2, 3]) {
    for (const sampler of [optuna, bandit]) {
      const asked = { suggest, budget, predictSeconds: slow, random: seededRandom(seed) };
      const answer = await sampler.propose(context(asked));
      assert.deepEqual(answer!.actions.map(({ method }) => method), ["octet"], sampler.name);
      const none = await sampler.propose(context({ ...asked, predictSeconds: () => 1000 }));
      assert.ok(none !== null, "the study is to say what ends it");
    }
  }
});

Deno.test("a worker that dies once is asked the same once more", async () => {
  const { asked, suggest } = library();
  let dead = false;
  const failure = { kind: "crash" as const, message: "the worker ended", hint: null, phase: null };
  const dying: Suggesting["suggest"] = async (request) => {
    const made = await suggest(request);
    if (dead) return made;
    dead = true;
    return { ok: false, failure, spans: [] };
  };
  assert.ok(await ask({ suggest: dying }) !== null);
  assert.deepEqual(asked[0], asked[1]);
});

Deno.test("a study that is killed and goes on by Optuna tells it the same as one that is not", async () => {
  const whole = world({ max_trials: 9 });
  const first = library();
  await run({ ...whole, ports: { ...whole.ports, libraries: first } }, { samplers: [optuna] });
  assert.ok(first.asked.length >= 4);
  for (const request of first.asked) {
    for (const { values, violations } of request.seen) {
      assert.ok([...values ?? [], ...violations ?? []].every(Number.isFinite));
      assert.ok(values === null || values.length === request.directions.length);
    }
  }
  // Killed behind the closing of an episode in the midst of the search.
  const ends = whole.records.flatMap((one, at) => one.type === "episode_closed" ? [at] : []);
  const again = world({ max_trials: 9 });
  const second = library();
  await run({ ...again, ports: { ...again.ports, libraries: second } }, {
    samplers: [optuna],
    history: historyOf(whole, ends[5]! + 1),
  });
  assert.deepEqual(second.asked, first.asked.slice(-second.asked.length));
  assert.ok(second.asked.length > 0);
});
