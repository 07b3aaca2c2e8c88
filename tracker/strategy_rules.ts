import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type StrategyRule, StrategyRules, UsageError } from "../core/mod.ts";
import { PROJECT_ROOT } from "./home.ts";

/** What a study tries first in which case, where nobody says otherwise. */
export const SHIPPED_RULES = join(PROJECT_ROOT, "plugins", "search", "rules.yaml");

export function shippedRules(): StrategyRule[] {
  return StrategyRules.parse(readRules(SHIPPED_RULES));
}

/** What a file of rules holds, YAML or JSON; an empty one holds none. Whoever takes it checks it. */
export function readRules(path: string): unknown {
  try {
    return parse(readFileSync(path, "utf8")) ?? [];
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new UsageError(`Cannot read the rules ${path}: ${said}`);
  }
}
