import type { Knob, Knobs } from "../contract/knobs.ts";
import type { StudyRequest } from "../schemas/request.ts";
import type { AgentMethod } from "./resolve_action.ts";

/** The calibration data that a study has: so many windows of so many tokens each. */
export interface Calibration {
  readonly windows: number;
  readonly tokens: number;
}

/** A knob that takes no more of the calibration data than there are; others stay as they are. */
function boundedKnob(knob: Knob, { windows, tokens }: Calibration): Knob {
  if (knob.takes === undefined) return knob;
  const most = Math.max(knob.minimum ?? 1, knob.takes === "windows" ? windows : tokens);
  if (knob.maximum !== null && knob.maximum <= most) return knob;
  return {
    ...knob,
    maximum: most,
    default: Math.min(Number(knob.default), most),
    bound: `this study's calibration text gives ${windows} windows of ${tokens} tokens`,
  };
}

/**
 * The methods as a study with these calibration data sees them: what a knob may say is what can be
 * applied, so that a value beyond it is refused in words, and no sampler draws two recipes that
 * would use the same data.
 */
export function calibratedMethods<M extends AgentMethod>(
  methods: readonly M[],
  calibration: Calibration,
): M[] {
  return methods.map((entry) => {
    const knobs: Knobs = Object.fromEntries(
      Object.entries(entry.method.knobs).map(([name, knob]) => [
        name,
        boundedKnob(knob, calibration),
      ]),
    );
    return { ...entry, method: { ...entry.method, knobs } };
  });
}

/** The calibration data that a request's own strategies ask for, where that is more than usual. */
export function askedCalibration(
  { strategies }: Pick<StudyRequest, "strategies">,
  methods: readonly AgentMethod[],
  usual: Calibration,
): Calibration {
  const asked = { ...usual };
  for (const { agent, method: name, params } of strategies.flatMap(({ actions }) => actions)) {
    const entry = methods.find((one) => one.agent === agent && one.method.name === name);
    for (const [knob, { takes, maximum }] of Object.entries(entry?.method.knobs ?? {})) {
      const value = params[knob];
      // A value beyond the knob itself is refused when it is resolved.
      if (takes === undefined || typeof value !== "number" || value > (maximum ?? value)) continue;
      asked[takes] = Math.max(asked[takes], value);
    }
  }
  return asked;
}
