import type { Knob, Knobs } from "../contract/knobs.ts";
import type { Method } from "../contract/plugin.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { DataKind } from "../schemas/artifact.ts";
import type { StudyRequest } from "../schemas/request.ts";
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

/** The windows that a request's own strategies ask for, where that is more than usual. */
export function askedWindows(
  { strategies }: Pick<StudyRequest, "strategies">,
  methods: readonly AgentMethod[],
  usual: StudyWindows,
): StudyWindows {
  const asked = { calibration: { ...usual.calibration }, training: { ...usual.training } };
  for (const { agent, method: name, params } of strategies.flatMap(({ actions }) => actions)) {
    const entry = methods.find((one) => one.agent === agent && one.method.name === name);
    const kind = entry?.method.needs.data;
    if (kind === undefined) continue;
    for (const [knob, { takes, maximum }] of Object.entries(entry?.method.knobs ?? {})) {
      const value = params[knob];
      // A value beyond the knob itself is refused when it is resolved.
      if (takes === undefined || typeof value !== "number" || value > (maximum ?? value)) continue;
      asked[kind][takes] = Math.max(asked[kind][takes], value);
    }
  }
  return asked;
}
