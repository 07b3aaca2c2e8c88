import type { Action, Origin } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import type { RunRequest } from "../schemas/request.ts";
import {
  RULE_FACTS,
  RULE_WORDS,
  type RuleFact,
  type RuleWord,
  type StrategyRule,
} from "../schemas/rules.ts";
import type { Spec } from "../schemas/spec.ts";
import { checkStrategy, sizeLimits } from "./compatibility.ts";
import { type AgentMethod, resolveActions, withOwnNames } from "./resolve_action.ts";
import type { RefusedStrategy } from "./seed_strategies.ts";
import { readableId } from "./strategy_names.ts";

/** A recipe that a rule asks for. */
export interface RuleStrategy {
  readonly actions: Action[];
  readonly origin: Origin;
}

type Known = Readonly<Record<RuleFact, number> & Record<RuleWord, string>>;

/** What the rules ask about, of one study. A study without a budget has all the time there is. */
function ruleFacts(request: RunRequest, spec: Spec, { model, device }: Facts): Known {
  const last = spec.rungs.at(-1)!.samples;
  const samples = spec.tasks.filter(({ primary }) => primary)
    .map(({ task, available_samples }) => available_samples ?? last[task] ?? Infinity);
  const { accuracy, latency, memory } = spec.reward_weights;
  return {
    memory_gb: device.vram_gb ?? device.memory_gb,
    model_gb: model.fp16_bytes / 1e9,
    samples: samples.reduce((sum, count) => sum + count, 0),
    budget_minutes: (request.budget_seconds ?? Infinity) / 60,
    accuracy_weight: accuracy,
    latency_weight: latency,
    memory_weight: memory,
    family: model.model_type,
    dataset_class: spec.dataset_class,
    runtime: spec.runtime,
  };
}

/** What made a rule hold, in words; null: it does not. */
function whyHolds({ when }: StrategyRule, known: Known): string | null {
  const held = when.find((entry) =>
    RULE_FACTS.every((fact) => within(entry[fact], known[fact])) &&
    RULE_WORDS.every((word) => isOne(entry[word], known[word]))
  );
  if (held === undefined) return null;
  const facts = RULE_FACTS.filter((fact) => held[fact] !== undefined)
    .map((fact) => `${fact} ${short(known[fact])}`);
  const words = RULE_WORDS.filter((word) => held[word] !== undefined)
    .map((word) => `${word} ${known[word]}`);
  return [...words, ...facts].join(", ") || "always";
}

function within(bounds: StrategyRule["when"][number][RuleFact], value: number): boolean {
  const { below = Infinity, at_least = -Infinity } = bounds ?? {};
  return value >= at_least && (value < below || below === Infinity);
}

/** Whether two words of rules are the same: in any case, with "-" or "_". */
export function isSameWord(one: string, other: string): boolean {
  const plain = (word: string) => word.toLowerCase().replaceAll("-", "_");
  return plain(one) === plain(other);
}

function isOne(wanted: readonly string[] | undefined, value: string): boolean {
  return wanted === undefined || wanted.some((word) => isSameWord(word, value));
}

function short(value: number): string {
  return Number.isFinite(value) ? String(Math.round(100 * value) / 100) : "unlimited";
}

/**
 * The recipes of every rule that holds, in the rules' order. One that cannot run here is refused with
 * its reason; one of methods that the user left out of this study is not for it.
 */
export function ruleStrategies(
  rules: readonly StrategyRule[],
  request: RunRequest,
  spec: Spec,
  facts: Facts,
  methods: readonly AgentMethod[],
): { strategies: RuleStrategy[]; refused: RefusedStrategy[] } {
  const strategies: RuleStrategy[] = [];
  const refused: RefusedStrategy[] = [];
  const known = ruleFacts(request, spec, facts);
  for (const rule of rules) {
    const why = whyHolds(rule, known);
    if (why === null) continue;
    for (const { actions } of rule.recipes) {
      if (!inPlay(actions, request)) continue;
      const reason = recipeRefusal(actions, spec, facts, methods);
      const words = actions.map(({ method }) => method).join("-");
      if (reason !== null) refused.push({ strategy: `rule ${rule.name}: ${words}`, reason });
      else {
        const told = `rule ${rule.name} (${why}): ${rule.reason}`;
        strategies.push({
          actions: withOwnNames(actions, methods),
          origin: { sampler: "rule", mode: "seed", reason: told },
        });
      }
    }
  }
  return { strategies, refused };
}

/** Whether the user left none of its methods out. */
function inPlay(actions: readonly Action[], { methods }: RunRequest): boolean {
  return actions.every(({ method }) => methods === undefined || methods.includes(method));
}

/** Why a recipe of before the study cannot run in it; null: it can. */
export function recipeRefusal(
  actions: readonly Pick<Action, "agent" | "method" | "params">[],
  spec: Spec,
  facts: Facts,
  methods: readonly AgentMethod[],
): string | null {
  for (const { agent, method } of actions) {
    const verdict = spec.methods.find((one) => one.agent === agent && one.method === method);
    if (verdict === undefined) return `there is no method ${method} of ${agent}`;
    if (!verdict.supported) return `${method}: ${verdict.reason}`;
  }
  const resolved = resolveActions(actions, methods, facts);
  const limits = sizeLimits(spec);
  const support = checkStrategy(resolved, methods, facts, limits);
  return support.ok ? null : `${readableId(0, resolved).replace(/^s00-/, "")}: ${support.reason}`;
}
