import type { Action, KnobValue } from "../schemas/action.ts";

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

/** Method, part where it is not the linear layers, bits and group: `rtn-embedding-8bit`. */
function actionWords({ method, params }: Pick<Action, "method" | "params">): string {
  const words = [method];
  const part = Object.values(params).find((value) => value === "embedding");
  if (part !== undefined) words.push("embedding");
  const { bits, group_size } = params;
  if (typeof bits === "number") words.push(`${bits}bit`);
  if (typeof group_size === "number" && group_size > 0) words.push(`g${group_size}`);
  return words.join("-").toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

/**
 * A name that a reader recognises, such as `s03-gptq-4bit-g64+rtn-embedding-8bit`; the number
 * makes it unique in its study.
 */
export function readableId(
  number: number,
  actions: readonly Pick<Action, "method" | "params">[],
): string {
  return `s${String(number).padStart(2, "0")}-${actions.map(actionWords).join("+")}`;
}
