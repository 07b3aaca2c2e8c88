import { z } from "zod";
import { Action } from "./action.ts";
import { DATASET_CLASSES } from "./spec.ts";

/** Numbers that a rule may ask about a study, each with its unit in its name. */
export const RULE_FACTS = [
  "memory_gb",
  "model_gb",
  "samples",
  "budget_minutes",
  "accuracy_weight",
  "latency_weight",
  "memory_weight",
] as const;
export type RuleFact = typeof RULE_FACTS[number];

/** Words that a rule may ask about a study. */
export const RULE_WORDS = ["family", "dataset_class", "runtime"] as const;
export type RuleWord = typeof RULE_WORDS[number];

const Bounds = z.strictObject({
  below: z.number().optional(),
  at_least: z.number().optional(),
}).refine(
  ({ below, at_least }) => below !== undefined || at_least !== undefined,
  "it must name below, at_least or both",
);

const Bound = Bounds.optional();

/** All of it must hold: bounds of numbers, and words of which one must be the study's. */
const Case = z.strictObject(
  {
    memory_gb: Bound,
    model_gb: Bound,
    samples: Bound,
    budget_minutes: Bound,
    accuracy_weight: Bound,
    latency_weight: Bound,
    memory_weight: Bound,
    family: z.array(z.string().min(1)).min(1).optional().describe(
      "model_type of the model's config.json, such as llama",
    ),
    dataset_class: z.array(z.enum(DATASET_CLASSES)).min(1).optional(),
    runtime: z.array(z.string().min(1)).min(1).optional().describe(
      "that speed is measured in, such as openvino",
    ),
  } satisfies Record<RuleFact | RuleWord, z.ZodType>,
);

/** What a study tries first where it is short of something, or asks for something. */
export const StrategyRule = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_]*$/, "a name is of small letters, digits and _"),
  reason: z.string().min(1).describe("one clause; it stands with every recipe in the report"),
  when: z.array(Case).min(1).describe("the rule holds where all of one entry holds"),
  recipes: z.array(z.strictObject({ actions: z.array(Action).min(1) })).min(1).describe(
    "in the order in which they are tried; one that cannot run is told with its reason",
  ),
});
export type StrategyRule = z.infer<typeof StrategyRule>;

export const StrategyRules = z.array(StrategyRule).refine(
  (rules) => new Set(rules.map(({ name }) => name)).size === rules.length,
  "every rule must have a name of its own",
);
