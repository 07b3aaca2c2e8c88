import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { isSameWord, nearestName, type RunRequest, UsageError } from "../../../core/mod.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";

const FILE = join("plugins", "search", "model_families.yaml");

/** The model types of which a rule's family is one, by the names that transformers has for them. */
export function modelFamilies(): string[] {
  return parse(readFileSync(join(PROJECT_ROOT, FILE), "utf8"));
}

/**
 * Refuses a rule for a family that no model has: it would hold for nothing, in silence. A model with
 * code of its own may have a family of its own.
 */
export function checkFamilies({ rules = [], trust_remote_code }: RunRequest): void {
  if (trust_remote_code || rules.length === 0) return;
  const known = modelFamilies();
  for (const { name, when } of rules) {
    for (const family of when.flatMap(({ family = [] }) => family)) {
      if (known.some((one) => isSameWord(one, family))) continue;
      const near = nearestName(family, known);
      const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
      throw new UsageError(
        `Unknown family "${family}" in the rule ${name}.${hint} It is the model_type of a ` +
          `config.json: ${FILE} has all that are known`,
      );
    }
  }
}
