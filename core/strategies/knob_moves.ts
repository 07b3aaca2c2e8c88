import type { Knob, Knobs } from "../contract/knobs.ts";
import type { KnobValue } from "../schemas/action.ts";

/** Steps that divide a range of numbers. */
const STEPS = 8;

/** Whole or rounded to six digits, and inside the range, whatever floating point did. */
function fit(knob: Knob, value: number): number {
  const round = knob.kind === "integer" ? Math.round(value) : Number(value.toPrecision(6));
  return Math.min(knob.maximum ?? round, Math.max(knob.minimum ?? round, round));
}

function numberNeighbours(knob: Knob, value: number): number[] {
  const [low, high] = [knob.minimum ?? value, knob.maximum ?? value];
  const step = knob.kind === "integer"
    ? Math.max(1, Math.round((high - low) / STEPS))
    : (high - low) / STEPS;
  const moved = knob.log ? [value / 2, value * 2] : [value - step, value + step];
  return [...new Set(moved.map((one) => fit(knob, one)))].filter((one) => one !== value);
}

/** The values one step from a knob's value: the next choice, the other side, a step of its range. */
export function knobNeighbours(knob: Knob, value: KnobValue): KnobValue[] {
  if (knob.kind === "flag") return [value !== true];
  if (knob.kind === "choice") {
    const choices = knob.choices ?? [];
    const at = choices.indexOf(value);
    return [choices[at - 1], choices[at + 1]].filter((one) => one !== undefined);
  }
  return typeof value === "number" ? numberNeighbours(knob, value) : [];
}

/** A value of the knob's whole range, uniform, or uniform in its logarithm. */
export function randomKnobValue(knob: Knob, random: () => number): KnobValue {
  if (knob.kind === "flag") return random() < 0.5;
  if (knob.kind === "choice") {
    const choices = knob.choices ?? [];
    return choices[Math.floor(random() * choices.length)] ?? knob.default;
  }
  const [low, high] = [knob.minimum ?? 0, knob.maximum ?? 0];
  if (knob.log) return fit(knob, low * (high / low) ** random());
  return knob.kind === "integer"
    ? fit(knob, Math.floor(low + random() * (high - low + 1)))
    : fit(knob, low + random() * (high - low));
}

/** A few values that stand for the knob's range: all of a choice, ends and default of a number. */
export function knobGrid(knob: Knob): KnobValue[] {
  if (knob.kind === "flag") return [knob.default, knob.default !== true];
  const values = knob.kind === "choice" ? knob.choices ?? [] : [knob.minimum, knob.maximum];
  return [...new Set([knob.default, ...values.filter((value) => value !== null)])];
}

/**
 * Every combination of the knobs' grids, the defaults first and the last knob fastest, one at a
 * time: a caller stops when it has found what it wants.
 */
export function* knobCombinations(
  knobs: readonly (readonly [string, Knob])[],
): Generator<Record<string, KnobValue>> {
  const [first, ...rest] = knobs;
  if (first === undefined) {
    yield {};
    return;
  }
  const [name, knob] = first;
  for (const value of knobGrid(knob)) {
    for (const others of knobCombinations(rest)) yield { [name]: value, ...others };
  }
}

/** The parameters without those that stand at their defaults: what a recipe has to write down. */
export function withoutDefaults(
  knobs: Knobs,
  params: Readonly<Record<string, KnobValue>>,
): Record<string, KnobValue> {
  return Object.fromEntries(
    Object.entries(params).filter(([name, value]) => knobs[name]?.default !== value),
  );
}
