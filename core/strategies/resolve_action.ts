import { type Knob, type Knobs, paramsSchema, resolvedSchema } from "../contract/knobs.ts";
import type { Support } from "../contract/change.ts";
import type { Method } from "../contract/plugin.ts";
import type { Runtime } from "../contract/runtime.ts";
import { unknownMethod } from "../contract/unknown_method.ts";
import { unknownName, UsageError } from "../errors.ts";
import type { Action, KnobValue, Origin, ResolvedAction, ResolvedKnob } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import { metAfter } from "./met_facts.ts";

/** A method with the agent that it belongs to. */
export interface AgentMethod {
  readonly agent: string;
  readonly method: Method;
  /** Whether the study's runtime holds anything that it writes; absent: no runtime was asked. */
  held?(facts: Facts): Support;
  /** How that runtime reads a part of the model; absent: nobody can tell beforehand. */
  reads?: Runtime["reads"];
}

/** The method that an action names; a name that is not known is answered with the nearest one. */
export function findMethod(
  methods: readonly AgentMethod[],
  agent: string,
  name: string,
): AgentMethod {
  const own = methods.filter((one) => one.agent === agent);
  if (own.length === 0) {
    throw new UsageError(unknownName("family", agent, [...new Set(methods.map((m) => m.agent))]));
  }
  const found = own.find((one) => one.method.name === name);
  if (found !== undefined) return found;
  throw unknownMethod(`method of ${agent}`, name, own.map((one) => one.method));
}

/** The values that a knob takes, in words. */
export function knobRange(knob: Knob): string {
  if (knob.kind === "choice") {
    const { choices = [], pattern } = knob;
    const text = pattern === undefined || /^\w+$/.test(pattern)
      ? pattern
      : `a text that matches ${pattern}`;
    return `one of ${choices!.join(", ")}${text === undefined ? "" : ` or ${text}`}`;
  }
  if (knob.kind === "flag") return "true or false";
  const number = knob.kind === "integer" ? "a whole number" : "a number";
  const because = knob.bound === undefined ? "" : `, as ${knob.bound}`;
  return `${number} from ${knob.minimum} to ${knob.maximum}${because}`;
}

/** The parameters under the knobs' own names, where a strategy gives an alias of one. */
function ownNames(name: string, knobs: Knobs, given: Action["params"]): Action["params"] {
  const params = new Map<string, KnobValue>();
  for (const [key, value] of Object.entries(given)) {
    const own = Object.hasOwn(knobs, key)
      ? key
      : Object.keys(knobs).find((knob) => knobs[knob]!.aliases?.includes(key)) ?? key;
    if (params.has(own)) {
      const names = [own, ...knobs[own]!.aliases ?? []].join(" and ");
      throw new UsageError(`Cannot use ${name} with ${own} given twice: ${names} are one knob`);
    }
    params.set(own, value);
  }
  return Object.fromEntries(params);
}

/** The actions with every knob under its own name, as they are recorded. */
export function withOwnNames(
  actions: readonly Action[],
  methods: readonly AgentMethod[],
): Action[] {
  return actions.map((action) => {
    const { method } = findMethod(methods, action.agent, action.method);
    return { ...action, params: ownNames(method.name, method.knobs, action.params) };
  });
}

/** Refuses a knob that the method has not, or a value that the knob does not take. */
export function checkParams(
  { name, knobs, knobs_named_for: said = {} }: Pick<Method, "name" | "knobs" | "knobs_named_for">,
  given: Action["params"],
): void {
  const params = ownNames(name, knobs, given);
  const check = paramsSchema(knobs).safeParse(params);
  if (check.success) return;
  for (const [key, value] of Object.entries(params)) {
    const knob = Object.hasOwn(knobs, key) ? knobs[key] : undefined;
    if (knob === undefined) {
      if (Object.hasOwn(said, key)) {
        throw new UsageError(`Unknown knob of ${name} "${key}": ${said[key]}`);
      }
      throw new UsageError(unknownName(`knob of ${name}`, key, Object.keys(knobs)));
    }
    if (!paramsSchema({ [key]: knob }).safeParse({ [key]: value }).success) {
      const unit = /^(|1|on\/off|name)$/.test(knob.unit) ? "" : ` (${knob.unit})`;
      throw new UsageError(
        `Cannot use ${name} with ${key} = ${JSON.stringify(value)} as ${key} is ` +
          `${knobRange(knob)}${unit}, or "auto"`,
      );
    }
  }
  const issues = check.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new UsageError(`Cannot use ${name} with these parameters: ${issues.join("; ")}`);
}

/** Why knobs that were given go together on no model, or on none that reads so many tokens; null: they may. */
export function clashOf(
  method: Pick<Method, "clash">,
  given: Action["params"],
  reads?: number,
): string | null {
  const said = Object.entries(given).filter(([, value]) => value !== "auto");
  return method.clash?.(Object.fromEntries(said), reads) ?? null;
}

type Giver = Exclude<ResolvedKnob["by"], "default" | "method">;

/** Whose values a strategy holds. */
function giverOf(mode: Origin["mode"]): Giver {
  return mode === "user" || mode === "seed" ? mode : "sampler";
}

function resolveKnob(
  name: string,
  knob: Knob,
  given: KnobValue | undefined,
  chosen: { value: KnobValue; reason: string } | undefined,
  giver: Giver,
): ResolvedKnob {
  if (given === undefined) {
    const lowered = knob.bound !== undefined && knob.default === knob.maximum;
    const reason = lowered ? knob.bound : null;
    return { knob: name, value: knob.default, by: "default", reason };
  }
  if (given !== "auto") return { knob: name, value: given, by: giver, reason: null };
  if (chosen !== undefined) return { knob: name, ...chosen, by: "method" };
  const reason = '"auto" was asked and the method has no rule for it: its default';
  return { knob: name, value: knob.default, by: "default", reason };
}

function valuesOf(resolved: readonly ResolvedKnob[]): Record<string, KnobValue> {
  return Object.fromEntries(resolved.map(({ knob, value }) => [knob, value]));
}

/**
 * A value for every knob. Where defaults do not suit the model, such as a group that does not divide
 * rows which an earlier action cut, the method's own choice takes the place of those that it has one
 * for.
 */
function resolveKnobs(
  method: AgentMethod["method"],
  given: Action["params"],
  facts: Facts,
  giver: Giver,
): ResolvedKnob[] {
  const resolve = (params: Action["params"]) => {
    const chosen = Object.values(params).includes("auto") ? method.auto?.(facts) ?? {} : {};
    return Object.entries(method.knobs).map(([name, knob]) =>
      resolveKnob(name, knob, params[name], chosen[name], giver)
    );
  };
  const usual = resolve(given);
  if (method.auto === undefined || method.accepts(valuesOf(usual), facts).ok) return usual;
  const left = Object.keys(method.auto(facts)).filter((name) => given[name] === undefined);
  if (left.length === 0) return usual;
  const suited = resolve({ ...given, ...Object.fromEntries(left.map((name) => [name, "auto"])) });
  return method.accepts(valuesOf(suited), facts).ok ? suited : usual;
}

/**
 * The action with a value for every knob, and who put each there: whoever made the strategy, as its
 * origin's mode says, `method` where that is "auto", `default` for what is left. A wrong name or
 * value is refused in words.
 */
export function resolveAction(
  action: Action,
  methods: readonly AgentMethod[],
  facts: Facts,
  mode: Origin["mode"] = "user",
): ResolvedAction {
  const { agent, method } = findMethod(methods, action.agent, action.method);
  checkParams(method, action.params);
  const given = ownNames(method.name, method.knobs, action.params);
  const resolved = resolveKnobs(method, given, facts, giverOf(mode));
  const params = valuesOf(resolved);
  const check = resolvedSchema(method.knobs).safeParse(params);
  if (!check.success) {
    const issue = check.error.issues[0];
    const key = String(issue?.path[0] ?? "");
    throw new TypeError(
      `Cannot resolve ${method.name} as its own choice of ${key} does not fit the knob: it is ` +
        `${JSON.stringify(params[key])}, the knob takes ${knobRange(method.knobs[key]!)}`,
    );
  }
  const label = [...method.label?.(params) ?? []];
  const title = method.title?.(params);
  return {
    ...{ agent, method: method.name, params, resolved },
    ...(label.length > 0 ? { label } : {}),
    ...(title === undefined ? {} : { title }),
  };
}

/**
 * Every action of a recipe resolved, in order: each by the facts of the model that those before it
 * leave, so that "auto" is chosen for what the action will meet.
 */
export function resolveActions(
  actions: readonly Action[],
  methods: readonly AgentMethod[],
  facts: Facts,
  mode: Origin["mode"] = "user",
): ResolvedAction[] {
  let met = facts;
  return actions.map((action) => {
    const resolved = resolveAction(action, methods, met, mode);
    const { method } = findMethod(methods, action.agent, action.method);
    met = metAfter(met, method.leaves(resolved.params, met).model);
    return resolved;
  });
}
