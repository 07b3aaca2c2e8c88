/** Studies whose trials are not timed, as their runtime only emulates speed and nobody asks for it. */
import assert from "node:assert/strict";
import {
  inferSpec,
  layerCaches,
  type Method,
  objectivesSentence,
  openByHand,
  type Spec,
  type StudyRequestInput,
} from "../../core/mod.ts";
import { methods, plugins, request, smallFacts } from "./spec_fixtures.ts";
import { run, world } from "./study_world.ts";

const small = smallFacts();
const facts = {
  ...small,
  model: {
    ...small.model,
    layer_caches: layerCaches({
      ...{ model_type: "llama", hidden_size: 576, num_hidden_layers: 30, vocab_size: 49_152 },
      ...{ num_attention_heads: 9, num_key_value_heads: 3, max_position_embeddings: 2048 },
    }, small.model),
  },
};
const [first] = plugins.runtimes;
const decoding = { ...first!, name: "decoding", emulates: "multiplies weights out" };

/** Keeps a part of what was read, and stores no weights. */
const cutting = {
  agent: "shrinking",
  method: {
    ...methods.find(({ method }) => method.name === "round")!.method,
    ...{ name: "cut", knobs: {}, keeps: () => ({ tokens: 64, copies: 1 }) },
    order: { effect: "caches", follows: [], precedes: [], reason: "it is the last" },
    accepts: () => ({ ok: true }),
    leaves: (_params: unknown, { model }: typeof facts) => ({
      changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
      model: { ...model, cache: { kept_tokens: { mean: 64, most: 64 } } },
    }),
  } as unknown as Method,
};

const of = (more: Partial<StudyRequestInput>, runtimes = [decoding]): Spec =>
  inferSpec(request(more), facts, { ...plugins, runtimes, methods: [...methods, cutting] });
const context_tokens = 1024;

Deno.test("at a context a runtime that emulates times nothing, and weights are counted with the cache", () => {
  for (const methods of [undefined, ["cut"], ["round"]]) {
    const spec = of({ context_tokens, ...(methods === undefined ? {} : { methods }) });
    assert.match(spec.untimed!, /^Nothing is timed, as decoding only emulates speed/);
    assert.ok(spec.warnings.includes(spec.untimed!));
    assert.deepEqual(
      spec.objectives.map(({ metric }) => metric),
      ["accuracy", "memory_bytes_at_context"],
    );
    assert.match(
      objectivesSentence({ spec, without: [] })!,
      /, not of latency: decoding multiplies weights out, so that .* only emulated there\.$/,
    );
  }
  const limits = { max_kv_gb: 0.01, max_vram_gb: 1, max_size_gb: 1 };
  const asked = {
    context_tokens,
    front: ["accuracy", "kv", "memory", "size"],
    constraints: limits,
  };
  assert.ok(of(asked).untimed, "its cache, memory at the context and size are by arithmetic");
});

Deno.test("whoever asks for a figure of a runtime has every trial timed, as before", () => {
  const timed: Record<string, Spec> = {
    "no context": of({}),
    "no context, a policy alone": of({ methods: ["cut"] }),
    "a runtime that runs what is stored": of({ context_tokens }, [first! as typeof decoding]),
    "its front": of({ context_tokens, front: ["accuracy", "latency"] }),
    "memory of the process in its front": of({
      context_tokens,
      front: ["accuracy", "memory_bytes"],
    }),
    "a limit": of({ context_tokens, constraints: { max_latency_ms: 10 } }),
    "a goal": of({ context_tokens, constraints: { goals: { latency: "+10%" } } }),
    "a weight": of({ context_tokens, objectives: { accuracy: 0.9, latency: 0.1 } }),
    "a weight of energy": of({ context_tokens, objectives: { accuracy: 0.9, energy: 0.1 } }),
  };
  for (const [who, spec] of Object.entries(timed)) assert.equal(spec.untimed, undefined, who);
});

/** The same, as one that chooses by what it has read. */
const choosing = {
  ...cutting,
  method: {
    ...cutting.method,
    name: "choose",
    leaves: (_params: unknown, { model }: typeof facts) => ({
      changes: cutting.method.leaves({}, facts).changes,
      model: { ...model, cache: { kept_tokens: { mean: 64, most: 64 }, evict_after: "context" } },
    }),
  } as unknown as Method,
};

Deno.test("without a context no policy goes by emulated time: by the cache that is left, where it is counted", () => {
  const front = (more: Partial<StudyRequestInput>, runtimes = [decoding]) => {
    const added = { ...plugins, runtimes, methods: [...methods, cutting, choosing] };
    const spec = inferSpec(request(more), facts, added);
    return { spec, metrics: spec.objectives.map(({ metric }) => metric).join() };
  };
  const alone = front({ methods: ["choose"] });
  assert.equal(alone.metrics, "accuracy,context_kv_bytes");
  assert.equal(alone.spec.reward_weights.latency, 0);
  assert.match(
    objectivesSentence({ spec: alone.spec, without: [] })!,
    /^The front is of accuracy and KV cache of a context, not of latency: decoding multiplies/,
  );
  const both = front({ methods: ["choose", "round"] });
  assert.equal(both.metrics, "accuracy,context_kv_bytes,size_bytes");
  const whole = front({ methods: ["cut"] });
  assert.equal(
    whole.metrics,
    "accuracy,size_bytes",
    "its texts are read whole: nothing is counted",
  );
  const said = /^Nothing here counts what a policy of the cache saves: --context 2k/;
  assert.ok(whole.spec.warnings.some((one) => said.test(one)));
  for (const { spec } of [alone, both, front({}), front({ methods: ["cut"], context_tokens })]) {
    assert.ok(!spec.warnings.some((one) => said.test(one)));
  }
  const runs = [first! as typeof decoding];
  assert.equal(front({ methods: ["choose"] }, runs).metrics, "accuracy,latency_ms,size_bytes");
});

const quiet = (spec: Spec): Spec => ({ ...spec, untimed: "nobody asks for it" });

Deno.test("a search that times nothing evaluates, judges and recommends", async () => {
  const w = world({ front: ["accuracy", "size"], max_trials: 4 }, { spec: quiet });
  const { trials, recommendation, front } = await run(w);
  assert.deepEqual(w.calls.filter(({ call }) => call === "speed"), []);
  assert.equal(trials.length, 5);
  assert.ok(trials.some(({ state, strategy }) => state === "completed" && strategy !== null));
  assert.ok(trials.every(({ reward }) => reward !== null));
  assert.equal(recommendation?.keep_original, false);
  assert.ok(front.includes(recommendation!.trial_id));
});

Deno.test("by hand it is learned from without a timing", async () => {
  const w = world({ front: ["accuracy", "size"] }, { spec: quiet });
  await using study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin((await study.propose())!);
  await trial.apply();
  await trial.evaluate();
  await trial.learn();
  assert.ok(trial.trial.reward !== null);
  assert.deepEqual(w.calls.filter(({ call }) => call === "speed"), []);
});
