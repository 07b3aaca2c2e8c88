import type { Shape, Weight } from "../model/shape.ts";
import type { StoredForms } from "../model/stored_form.ts";
import type { Spread } from "./ranks.ts";

/** The counts of cards that divide a number. */
export function divisorsOf(value: number): number[] {
  return Array.from({ length: value }, (_, index) => index + 1).filter((one) => value % one === 0);
}

/** The first few, for a sentence. */
function fewDivisors(value: number): string {
  const all = divisorsOf(value);
  return all.length <= 8 ? all.join(", ") : `${all.slice(0, 7).join(", ")}, …`;
}

/** A matrix of a form with blocks or groups must be cut between them. */
function splitsBlock(weight: Weight, forms: StoredForms, tensor: number): string | null {
  if (weight.cut !== "shared out" || !/mlp|experts/.test(weight.part)) return null;
  const form = forms.formOf(weight);
  const down = /down_proj|o_proj|out_proj/.test(weight.name);
  const unit = down ? form.per_group : form.per_rows;
  if (unit === null) return null;
  const whole = down ? weight.columns : weight.rows;
  const own = whole / tensor;
  if (own % unit === 0) return null;
  return `tensor parallel ${tensor} cuts the ${whole} ${down ? "inputs" : "outputs"} of ` +
    `${weight.name} into parts of ${own}, no multiple of the ${unit} that share a scale in ${form.name}`;
}

/** Why a model cannot be spread so: each number that does not divide, with those that would. */
export function refusals(shape: Shape, forms: StoredForms, { tensor, pipeline }: Spread): string[] {
  const found = shape.divisors.flatMap(({ what, value, copies }) => {
    if (value % tensor === 0 || (copies && tensor % value === 0)) return [];
    const also = copies ? `, or any multiple of ${value}, each head copied` : "";
    return [
      `tensor parallel ${tensor} does not divide the ${value} ${what} ` +
      `(${fewDivisors(value)} do${also})`,
    ];
  });
  if (pipeline > shape.layers.length) {
    found.push(`${pipeline} stages are more than the ${shape.layers.length} layers`);
  }
  if (found.length === 0) {
    const first = shape.layers.flatMap(({ weights }) => weights)
      .map((weight) => splitsBlock(weight, forms, tensor)).find((why) => why !== null);
    if (first !== undefined && first !== null) found.push(first);
  }
  return found;
}

/** The sizes of tensor parallelism up to `most` that can be. */
export function tensorSizes(shape: Shape, forms: StoredForms, most: number): number[] {
  return Array.from({ length: most }, (_, index) => index + 1)
    .filter((tensor) => refusals(shape, forms, { tensor, pipeline: 1 }).length === 0);
}
