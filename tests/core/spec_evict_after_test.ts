import assert from "node:assert/strict";
import {
  checkStrategy,
  inferSpec,
  kindOf,
  type Method,
  resolveActions,
  scoredMethods,
  type StudyRequestInput,
} from "../../core/mod.ts";
import { evictAfter } from "../../core/spec/evict_after.ts";
import { methods, plugins, request, smallFacts } from "./spec_fixtures.ts";

const facts = smallFacts();
const round = methods.find(({ method }) => method.name === "round")!;

/** A method that chooses what to keep by what was read. */
const choosing = {
  agent: "shrinking",
  method: {
    ...round.method,
    name: "choose",
    leaves: (_params: unknown, { model }: typeof facts) => ({
      changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
      model: {
        ...model,
        cache: { kept_tokens: { mean: 64, most: 64 }, evict_after: "context" },
      },
    }),
  } as Method,
};
const more = { ...plugins, methods: [...plugins.methods, choosing] };

Deno.test("a study reads whole texts unless it names a method that chooses by what was read", () => {
  const whole = inferSpec(request({}), facts, more);
  assert.equal(whole.evict_after, undefined);
  const verdict = whole.methods.find(({ method }) => method === "choose")!;
  assert.equal(verdict.supported, false);
  assert.match(verdict.reason, /^what it keeps depends on what it has read/);
  const others = { ...whole, methods: whole.methods.filter(({ method }) => method !== "choose") };
  assert.deepEqual(others, inferSpec(request({}), facts, plugins));
});

Deno.test("one that names it scores what follows a context, and says for whose sake", () => {
  const action = { agent: "shrinking", method: "choose", params: {} };
  for (
    const named of [
      { methods: ["choose", "round"] },
      { strategies: [{ actions: [action] }] },
      { stages: { stages: [{ name: "one", actions: [action] }], core: ["words"] } },
    ] as Partial<StudyRequestInput>[]
  ) {
    const asked = request(named);
    const spec = kindOf(asked).spec(asked, facts, more);
    assert.equal(spec.evict_after, "context");
    assert.ok(spec.methods.find(({ method }) => method === "choose")!.supported);
    const said = spec.assumptions.find(({ field }) => field === "evict_after")!;
    assert.match(said.reason, /^choose chooses .*of every trial, the baseline too/);
  }
});

Deno.test("a plan that names its methods reads contexts for their sake alone, whatever the length asked for", () => {
  const asked = { strategies: [], context_tokens: 1024 };
  const planned = (method: string) => [{ action: { agent: "shrinking", method, params: {} } }];
  const read = (method: string) =>
    evictAfter(asked, { actions: planned(method) as never }, more.methods, facts).evict_after;
  assert.equal(read("choose"), "context");
  assert.equal(read("round"), undefined);
  assert.equal(evictAfter(asked, { actions: [] }, more.methods, facts).evict_after, "context");
});

Deno.test("a runtime that does not hold it says so, also where it is named", () => {
  const held = (..._: unknown[]) => ({ ok: false, reason: "its graph keeps all" }) as const;
  const unheld = { ...choosing, held, method: { ...choosing.method, accepts: held } };
  const named = { methods: ["choose"], strategies: [] };
  assert.deepEqual(evictAfter(named, { actions: [] }, [unheld], facts), { assumptions: [] });
  const [scored] = scoredMethods([unheld], undefined);
  assert.deepEqual(scored!.held!(facts), held());
  assert.deepEqual(scored!.method.accepts({}, facts), held());
});

Deno.test("scoredMethods() refuses it in any recipe of a study that reads whole texts", () => {
  const action = { agent: "shrinking", method: "choose", params: {} };
  const verdict = (evict_after: "context" | undefined) => {
    const own = scoredMethods(more.methods, evict_after);
    return checkStrategy(resolveActions([action], own, facts), own, facts);
  };
  assert.deepEqual(verdict("context"), { ok: true });
  const refused = verdict(undefined);
  assert.ok(!refused.ok);
  assert.match(refused.reason, /scores what follows each context$/);
});
