import { shippedText } from "../search/strategy_rules.ts";

/** Prints the rules that ship with pare, their comments with them: to be changed and given back. */
export function rulesCommand(): void {
  console.log(shippedText());
}
