import type { Facts, ModelFacts } from "../schemas/facts.ts";

/** The facts that the next action of a chain meets: a named student takes the untouched model's place alone. */
export function metAfter({ student: _student, ...facts }: Facts, model: ModelFacts): Facts {
  return { ...facts, model };
}
