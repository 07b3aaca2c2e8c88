import { readFileSync } from "node:fs";
import { SHIPPED_RULES } from "../strategy_rules.ts";

/** Prints the rules that ship with pare, their comments with them: to be changed and given back. */
export function rulesCommand(): void {
  console.log(readFileSync(SHIPPED_RULES, "utf8").trimEnd());
}
