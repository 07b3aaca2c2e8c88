import { type Part, PARTS, type Shape, type Weight } from "./shape.ts";
import type { StoredForms } from "./stored_form.ts";

/** Values and bytes of one part of a model. */
export interface PartSize {
  readonly part: Part;
  readonly parameters: number;
  readonly bytes: number;
  readonly form: string;
}

export function parametersOf({ rows, columns, copies, plain }: Weight): number {
  return rows * columns * copies + plain;
}

/** Bytes of a weight as it is stored: what is plain keeps the type in which the model computes. */
export function bytesOf(weight: Weight, forms: StoredForms, value_bytes: number): number {
  const { rows, columns, copies, plain } = weight;
  const matrix = rows * columns === 0 ? 0 : forms.formOf(weight).bytes(rows, columns) * copies;
  return matrix + plain * value_bytes;
}

function allWeights({ layers, outside }: Shape): Weight[] {
  return [...outside, ...layers.flatMap(({ weights }) => weights)];
}

/** Every part that a model has, with its values, its bytes and how they are stored. */
export function weighParts(shape: Shape, forms: StoredForms): PartSize[] {
  const sums = new Map<Part, { parameters: number; bytes: number; names: Set<string> }>();
  for (const weight of allWeights(shape)) {
    const own = sums.get(weight.part) ?? { parameters: 0, bytes: 0, names: new Set() };
    own.parameters += parametersOf(weight);
    own.bytes += bytesOf(weight, forms, shape.value_bytes);
    if (weight.rows > 0) own.names.add(forms.formOf(weight).name);
    sums.set(weight.part, own);
  }
  return PARTS.flatMap((part) => {
    const own = sums.get(part);
    if (own === undefined || own.parameters === 0) return [];
    const form = [...own.names].sort().join("; ");
    return [{ part, parameters: own.parameters, bytes: Math.round(own.bytes), form }];
  });
}

/** Values that one token goes through: all but the embedding and the experts that it does not take. */
export function activeParameters(shape: Shape): number {
  return allWeights(shape)
    .filter(({ part }) => part !== "draft layers" && part !== "vision")
    .reduce(
      (sum, weight) =>
        sum +
        (weight.part === "embedding" && !shape.tied ? 0 : weight.active * parametersOf(weight)),
      0,
    );
}
