import { z } from "zod";
import { JSON_SHAPES } from "./json_shapes.ts";

export type JsonKind = keyof typeof JSON_SHAPES;

/** Of a field that changes its meaning or goes. */
const VERSION = 1;

/** What `--json` prints: one object, checked against its shape. */
export function jsonText<K extends JsonKind>(
  kind: K,
  data: z.input<(typeof JSON_SHAPES)[K]>,
): string {
  return JSON.stringify({ kind, version: VERSION, data: JSON_SHAPES[kind].parse(data) }, null, 2);
}

/** A number that JSON can hold; null: it is not finite, or there is none. */
export function finite(value: number | null | undefined): number | null {
  return value !== null && value !== undefined && Number.isFinite(value) ? value : null;
}

/** The JSON schema of everything that `--json` prints. */
export function outputSchema(): z.core.JSONSchema.BaseSchema {
  const shapes = Object.entries(JSON_SHAPES).map(([kind, data]) =>
    z.strictObject({ kind: z.literal(kind), version: z.literal(VERSION), data })
  );
  return z.toJSONSchema(z.union(shapes));
}
