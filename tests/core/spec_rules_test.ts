import assert from "node:assert/strict";
import {
  inferSpec,
  ruleStrategies,
  type StrategyRule,
  StrategyRules,
  type StudyRequestInput,
} from "../../core/mod.ts";
import { methods, plugins, request, smallFacts } from "./spec_fixtures.ts";
import { run, world } from "./study_world.ts";

const agent = "shrinking";
const recipe = (method: string, params = {}) => ({ actions: [{ agent, method, params }] });

function rule(more: Partial<StrategyRule>): StrategyRule {
  return {
    name: "scarce",
    reason: "cheap first",
    when: [{ budget_minutes: { below: 5 } }],
    recipes: [recipe("octet"), recipe("round", { bits: 8 })],
    ...more,
  };
}

function ruled(
  rules: StrategyRule[],
  asked: Partial<StudyRequestInput> = {},
  facts = smallFacts(),
) {
  const asking = request(asked);
  const spec = inferSpec(asking, facts, plugins);
  return ruleStrategies(rules, asking, spec, facts, methods);
}

const names = ({ strategies }: ReturnType<typeof ruled>) =>
  strategies.map(({ actions }) => actions.map(({ method }) => method).join("+"));

Deno.test("a rule holds where all bounds of one of its cases hold, and says which", () => {
  const found = ruled([rule({})], { budget_seconds: 120 });
  assert.deepEqual(names(found), ["octet", "round"]);
  const { sampler, mode, reason } = found.strategies[0]!.origin;
  assert.deepEqual([sampler, mode, reason], [
    "rule",
    "seed",
    "rule scarce (budget_minutes 2): cheap first",
  ]);
  assert.deepEqual(names(ruled([rule({})], { budget_seconds: 300 })), [], "below is below");
  assert.deepEqual(names(ruled([rule({})])), [], "without a budget there is all the time");
  const both = rule({
    when: [{ budget_minutes: { at_least: 60 }, accuracy_weight: { below: 0.1 } }],
  });
  assert.deepEqual(names(ruled([both])), []);
  const either = rule({ when: [...both.when, { budget_minutes: { at_least: 60 } }] });
  assert.deepEqual(names(ruled([either])), ["octet", "round"]);
});

Deno.test("a profile holds for families, sizes and classes of dataset; words and numbers of a case all hold", () => {
  const facts = smallFacts(); // a llama of 0.27 GB
  const profile = (when: StrategyRule["when"]) => names(ruled([rule({ when })], {}, facts));
  assert.deepEqual(profile([{ family: ["gpt2", "LLaMA"] }]), ["octet", "round"]);
  assert.deepEqual(profile([{ family: ["qwen2"] }]), []);
  assert.deepEqual(profile([{ family: ["llama"], model_gb: { at_least: 1 } }]), []);
  assert.deepEqual(profile([{ dataset_class: ["math"] }]), []);
  assert.deepEqual(profile([{ dataset_class: ["math"] }, { dataset_class: ["language"] }]), [
    "octet",
    "round",
  ]);
  const both = rule({ when: [{ family: ["llama"], model_gb: { below: 1 } }] });
  assert.equal(
    ruled([both], {}, facts).strategies[0]!.origin.reason,
    `rule scarce (family llama, model_gb ${short(facts.model.fp16_bytes / 1e9)}): cheap first`,
  );
  const glm = smallFacts();
  glm.model.model_type = "gpt-neox";
  assert.deepEqual(names(ruled([rule({ when: [{ family: ["gpt_neox"] }] })], {}, glm)), [
    "octet",
    "round",
  ]);
});

const short = (value: number) => String(Math.round(100 * value) / 100);

Deno.test("a rule's recipe that cannot run is told; one of methods left out is not for the study", () => {
  const rules = [rule({
    recipes: [recipe("gpu_only"), recipe("octet"), {
      actions: [...recipe("octet").actions, ...recipe("round").actions],
    }],
  })];
  const found = ruled(rules, { budget_seconds: 60 });
  assert.deepEqual(names(found), ["octet"]);
  assert.deepEqual(found.refused.map(({ strategy }) => strategy), [
    "rule scarce: gpu_only",
    "rule scarce: octet-round",
  ]);
  assert.match(found.refused[0]!.reason, /^gpu_only: /);
  assert.match(found.refused[1]!.reason, /cannot follow/);
  assert.deepEqual(ruled(rules, { budget_seconds: 60, methods: ["round"] }), {
    strategies: [],
    refused: [],
  });
});

Deno.test("a study tries the user's recipes, then the rules', then the seeds; the request's rules replace the others", async () => {
  const always = [rule({ when: [{ budget_minutes: { at_least: 0 } }] })];
  const order = async (asked: Partial<StudyRequestInput>) => {
    const w = world({ strategies: [recipe("tune")], max_trials: 3, ...asked });
    const { trials } = await run(w, { rules: always, samplers: [] });
    return trials.slice(1).map(({ strategy }) => strategy!.origin.sampler);
  };
  assert.deepEqual(await order({}), ["user", "rule", "rule"]);
  assert.deepEqual(await order({ rules: [] }), ["user", "seed", "seed"]);
});

Deno.test("two rules of one name, and a bound without a number, are refused", () => {
  assert.throws(() => StrategyRules.parse([rule({}), rule({})]), /name of its own/);
  assert.throws(() => StrategyRules.parse([rule({ when: [{ samples: {} }] })]), /below, at_least/);
});
