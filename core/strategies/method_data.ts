import type { Knob, Knobs } from "../contract/knobs.ts";
import type { Method } from "../contract/plugin.ts";
import type { Action, KnobValue, ResolvedAction } from "../schemas/action.ts";
import type { DataKind } from "../schemas/artifact.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { AgentMethod } from "./resolve_action.ts";

/** So many windows of so many tokens each. */
export interface WindowCounts {
  readonly windows: number;
  readonly tokens: number;
}

/** The windows of text that a study has for methods, of each kind. */
export type StudyWindows = Readonly<Record<DataKind, WindowCounts>>;

/** The windows that an action works on: the first ones, of each the first tokens. Null: all. */
export interface DataNeed {
  readonly kind: DataKind;
  readonly windows: number | null;
  readonly tokens: number | null;
}

/** What an action needs; null: no text. Knobs that count windows or tokens say how much. */
export function dataNeed(
  { needs: { data }, knobs }: Method,
  params: ResolvedAction["params"],
): DataNeed | null {
  if (data === undefined) return null;
  const taken = (what: Knob["takes"]): number | null => {
    const name = Object.keys(knobs).find((one) => knobs[one]?.takes === what);
    return name === undefined ? null : Number(params[name]);
  };
  return { kind: data, windows: taken("windows"), tokens: taken("tokens") };
}

/** A knob that takes no more of the windows than there are; others stay as they are. */
function boundedKnob(knob: Knob, kind: DataKind, { windows, tokens }: WindowCounts): Knob {
  if (knob.takes === undefined) return knob;
  const most = Math.max(knob.minimum ?? 1, knob.takes === "windows" ? windows : tokens);
  if (knob.maximum !== null && knob.maximum <= most) return knob;
  return {
    ...knob,
    maximum: most,
    default: Math.min(Number(knob.default), most),
    bound: `this study's ${kind} text gives ${windows} windows of ${tokens} tokens`,
  };
}

/**
 * The methods as a study with these windows sees them: what a knob may say is what can be applied,
 * so that a value beyond it is refused in words, and no sampler draws two recipes that would use
 * the same data.
 */
export function boundedMethods<M extends AgentMethod>(
  methods: readonly M[],
  study: StudyWindows,
): M[] {
  return methods.map((entry) => {
    const { data } = entry.method.needs;
    if (data === undefined) return entry;
    const knobs: Knobs = Object.fromEntries(
      Object.entries(entry.method.knobs).map(([name, knob]) => [
        name,
        boundedKnob(knob, data, study[data]),
      ]),
    );
    return { ...entry, method: { ...entry.method, knobs } };
  });
}

/** An action that a document names, and by how much its knobs may be raised when it is tried again. */
export interface AskedAction {
  readonly action: Action;
  readonly raised: readonly { readonly set: Action["params"]; readonly scale: Action["params"] }[];
}

/** Every action of a request's own strategies, then those of its plan. */
export function askedActions(
  { strategies }: Pick<RunRequest, "strategies">,
  planned: readonly AskedAction[],
): AskedAction[] {
  const own = strategies.flatMap(({ actions }) =>
    actions.map((action) => ({ action, raised: [] }))
  );
  return [...own, ...planned];
}

/** The most that a knob is asked to be, by its own name or another; null: nothing is asked of it. */
function mostAsked(name: string, knob: Knob, { action, raised }: AskedAction): number | null {
  const given = (params: Action["params"]) =>
    [name, ...knob.aliases ?? []].map((one) => params[one]).find((one) => one !== undefined);
  const number = (value: KnobValue | undefined) => typeof value === "number" ? value : null;
  const stated = number(given(action.params));
  if (stated !== null && stated > (knob.maximum ?? stated)) return null; // refused when it is resolved
  let most = stated ?? Number(knob.default);
  for (const { set, scale } of raised) {
    const scaled = most * (number(given(scale)) ?? 1);
    most = Math.max(most, number(given(set)) ?? 0, Math.ceil(scaled - 1e-9));
  }
  return stated === null && most === Number(knob.default) ? null : most;
}

/**
 * The windows that a request's own strategies and the actions of its plan ask for, where that is more
 * than usual; with all that these may be raised by.
 */
export function askedWindows(
  { strategies }: Pick<RunRequest, "strategies">,
  planned: readonly AskedAction[],
  methods: readonly AgentMethod[],
  usual: StudyWindows,
): StudyWindows {
  const windows = { calibration: { ...usual.calibration }, training: { ...usual.training } };
  for (const asked of askedActions({ strategies }, planned)) {
    const { agent, method: name } = asked.action;
    const entry = methods.find((one) => one.agent === agent && one.method.name === name);
    const kind = entry?.method.needs.data;
    if (kind === undefined) continue;
    for (const [knobName, knob] of Object.entries(entry?.method.knobs ?? {})) {
      const { takes } = knob;
      const most = takes === undefined ? null : mostAsked(knobName, knob, asked);
      if (takes === undefined || most === null) continue;
      // What an adjustment scales beyond the knob is brought to its end.
      const taken = Math.min(most, knob.maximum ?? most);
      windows[kind][takes] = Math.max(windows[kind][takes], taken);
    }
  }
  return windows;
}
