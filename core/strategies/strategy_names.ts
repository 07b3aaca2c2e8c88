import type { Action, KnobValue, ResolvedAction } from "../schemas/action.ts";

function sortedParams(params: Readonly<Record<string, KnobValue>>): string {
  const entries = Object.entries(params).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return JSON.stringify(entries);
}

/**
 * One string for one recipe: equal for recipes that do the same, whatever the order in which
 * their knobs were written. Give it resolved actions, so that a default left out and one written
 * down are the same.
 */
export function strategyKey(
  actions: readonly Pick<Action, "agent" | "method" | "params">[],
): string {
  return actions.map(({ agent, method, params }) => `${agent}/${method}${sortedParams(params)}`)
    .join("+");
}

type Named = Pick<ResolvedAction, "method" | "label" | "title">;

/** A word of a label as a part of a name; numbers that it adds stay apart: `4+28` is `4-28`. */
const namePart = (word: string): string =>
  word.toLowerCase().replace(/[^a-z0-9.+]+/g, "").replace(/(?<=\d)\+(?=\d)/g, "-")
    .replaceAll("+", "");

/** Method and what its label says of the parameters: `rtn-embedding-8bit`; or its title. */
function actionWords({ method, label = [], title }: Named): string {
  if (title !== undefined) return title.replace(/[^A-Za-z0-9._-]+/g, "-");
  const name = method.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return [name, ...label.map(namePart)].join("-");
}

/** What a trial is called within its study, such as `t03`. */
export function trialName(number: number): string {
  return `t${String(number).padStart(2, "0")}`;
}

/**
 * A name that a reader recognises, such as `s03-gptq-4bit-g64+rtn-embedding-8bit`; the number
 * makes it unique in its study.
 */
export function readableId(
  number: number,
  actions: readonly Named[],
): string {
  return `s${String(number).padStart(2, "0")}-${actions.map(actionWords).join("+")}`;
}

/** The recipe in such a name, as it stands beside a trial's own, which numbers it already. */
export function recipeName(readable_id: string): string {
  return readable_id.replace(/^s\d+-/, "");
}

/** Knobs with their values, such as `bits=4, group_size=64`. */
export function knobWords(params: Readonly<Record<string, KnobValue>>): string {
  return Object.entries(params).map(([name, value]) => `${name}=${value}`).join(", ");
}

/** A recipe in full, such as `quantization/rtn(bits=4) + quantization/rtn(targets=embedding)`. */
export function strategyWords(
  actions: readonly Pick<Action, "agent" | "method" | "params">[],
): string {
  return actions.map(({ agent, method, params }) => `${agent}/${method}(${knobWords(params)})`)
    .join(" + ");
}
