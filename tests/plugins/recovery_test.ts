import assert from "node:assert/strict";
import {
  type Action,
  heldMethods,
  inferSpec,
  recoveriesOf,
  resolveActions,
  type SearchContext,
  seededRandom,
  type Trial,
  untried,
} from "../../core/mod.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { request, smallFacts } from "../core/spec_fixtures.ts";
import { context, proposed, trial } from "./search_fixtures.ts";

const plugins = await discoverPlugins();
const methods = heldMethods(plugins.methods, plugins.runtime("openvino"));
const facts = smallFacts();
const recoveries = recoveriesOf(plugins.agents.filter(({ name }) => name === "finetuning"));
const spec = inferSpec(request(), facts, { ...plugins, methods });

const magnitude: Action = { agent: "pruning", method: "magnitude", params: {} };
const rtn: Action = { agent: "quantization", method: "rtn", params: { bits: 4 } };
const lora: Action = { agent: "finetuning", method: "lora", params: {} };

function lost(number: number, actions: Action[], more: Partial<Trial> = {}): Trial {
  return trial(number, actions, { state: "stopped", ...more }, methods);
}

function after(trials: Trial[], more: Partial<SearchContext> = {}): SearchContext {
  return { ...context({ spec, recoveries, trials, ...more }, methods), facts, methods };
}

/** What is proposed next, by the names of its methods. */
function proposal(trials: Trial[], sampler = "pareto_neighbourhood", more = {}) {
  const answer = proposed(plugins.sampler(sampler), after(trials, more));
  const names = answer?.actions.map(({ method }) => method) ?? [];
  return { answer, names };
}

for (const sampler of ["pareto_neighbourhood", "random"]) {
  Deno.test(`${sampler}: a recipe that lost too much is proposed again with its recovery`, () => {
    const { answer, names } = proposal([lost(1, [magnitude])], sampler);
    assert.deepEqual(names, ["magnitude", "lora"]);
    assert.equal(answer?.actions[1]?.params["steps"], 100);
    assert.match(
      answer?.origin.reason ?? "",
      /^t01 lost too much; finetuning recovers it by lora: low-rank factors learn/,
    );
    // The chain is pruned, tuned and then rounded; what is only rounded is tuned before.
    assert.deepEqual(proposal([lost(1, [magnitude, rtn])], sampler).names, [
      ...["magnitude", "lora", "rtn"],
    ]);
    assert.deepEqual(proposal([lost(1, [rtn])], sampler).names, ["lora", "rtn"]);
  });

  Deno.test(`${sampler}: a recipe is recovered once, and never one that trains already`, () => {
    const first = proposal([lost(1, [magnitude])], sampler).answer!;
    const second = lost(2, [...first.actions]);
    const again = proposed(plugins.sampler(sampler), after([lost(1, [magnitude]), second]));
    assert.doesNotMatch(again?.origin.reason ?? "", /recovers it by lora/);
    const trained = proposal([lost(1, [lora, rtn])], sampler);
    assert.doesNotMatch(trained.answer?.origin.reason ?? "", /recovers it/);
  });
}

Deno.test("a recovery that the time left does not hold gives way to what it holds", () => {
  const budget = { seconds_left: 60, trials_left: null, full_evaluations_left: 8 };
  const trains = (actions: readonly Action[]) => actions.some(({ method }) => method === "lora");
  const took = (seconds: number) => ({
    budget,
    predictSeconds: (actions: readonly Action[]) => trains(actions) ? seconds : 1,
  });
  assert.deepEqual(proposal([lost(1, [magnitude])], undefined, took(60)).names, [
    ...["magnitude", "lora"],
  ]);
  const { answer } = proposal([lost(1, [magnitude])], undefined, took(61));
  assert.ok(answer !== null);
  assert.doesNotMatch(answer.origin.reason, /recovers it/);
});

Deno.test("a violated quality constraint counts as lost; an undecided one, or memory, does not", () => {
  const verdict = (constraint: string, one: "violated" | "undecided") =>
    [{
      constraint,
      verdict: one,
      threshold: 0.02,
      value: 0.1,
      interval: null,
      samples_to_decide: null,
    }] satisfies Trial["constraints"];
  const recovered = (constraints: Trial["constraints"]) => {
    const trials = [lost(1, [magnitude], { state: "completed", constraints })];
    return /recovers it/.test(proposal(trials).answer?.origin.reason ?? "");
  };
  assert.equal(recovered(verdict("max_accuracy_drop", "violated")), true);
  assert.equal(recovered(verdict("max_perplexity_rise", "violated")), true);
  assert.equal(recovered(verdict("max_accuracy_drop", "undecided")), false);
  assert.equal(recovered(verdict("max_size_gb", "violated")), false);
});

Deno.test("a recovery of a method that the study leaves out is not proposed", () => {
  const only = methods.filter(({ method }) => method.name !== "lora");
  const own = inferSpec(request(), facts, { ...plugins, methods: only });
  const trials = [lost(1, [magnitude])];
  const shown = {
    ...after(trials),
    methods: only,
    spec: own,
    recoveries: recoveries
      .filter(({ agent }) => agent === "finetuning"),
  };
  const answer = proposed(plugins.sampler("random"), { ...shown, random: seededRandom(3) });
  assert.doesNotMatch(answer?.origin.reason ?? "", /recovers it/);
});

Deno.test("what an agent declares can run: its method and parameters are its own", () => {
  assert.ok(recoveries.some(({ agent }) => agent === "finetuning"));
  for (const { agent, method, params } of recoveries) {
    const [action] = resolveActions([{ agent, method, params: { ...params } }], methods, facts);
    assert.equal(action?.method, method);
  }
  assert.equal(untried(after([]))([magnitude, lora]), true);
});

Deno.test("distillation recovers first: a cut by its teacher, what is rounded by factors beside it", () => {
  const all = recoveriesOf(plugins.agents);
  const ways = (trials: Trial[]) => proposal(trials, "pareto_neighbourhood", { recoveries: all });
  const cut = ways([lost(1, [magnitude, rtn])]);
  assert.deepEqual(cut.names, ["magnitude", "distill", "rtn"]);
  assert.match(cut.answer!.origin.reason, /distillation recovers it by distill: the uncompressed/);
  const rounded = ways([lost(1, [rtn])]);
  assert.deepEqual(rounded.names, ["rtn", "distill"]);
  assert.equal(rounded.answer!.actions[1]!.params["student_weights"], "adapter");
  const again = ways([
    lost(1, [magnitude]),
    lost(2, [...ways([lost(1, [magnitude])]).answer!.actions]),
  ]);
  assert.deepEqual(again.names, ["magnitude", "lora"], "another agent's way is next");
});
