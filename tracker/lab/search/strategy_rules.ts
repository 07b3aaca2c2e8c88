import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type StrategyRule, StrategyRules } from "../../../core/mod.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";
import { readYaml } from "../../ground/storage/read_yaml.ts";

/**
 * What a study tries first in which case, where nobody says otherwise: what it is short of, then what
 * kind of dataset and of model it has. Each file is a list, and so are all of them one after another.
 */
export const SHIPPED_RULES = ["rules", "dataset_profiles", "model_profiles"]
  .map((name) => join(PROJECT_ROOT, "plugins", "search", `${name}.yaml`));

export function shippedRules(): StrategyRule[] {
  return StrategyRules.parse(SHIPPED_RULES.flatMap((path) => readRules(path)));
}

/** The files as one document, their comments with them. */
export function shippedText(): string {
  return SHIPPED_RULES.map((path) => readFileSync(path, "utf8").trimEnd()).join("\n\n");
}

/** What a file of rules holds, YAML or JSON; an empty one holds none. Whoever takes it checks it. */
export function readRules(path: string): unknown {
  return readYaml(path, "the rules") ?? [];
}
