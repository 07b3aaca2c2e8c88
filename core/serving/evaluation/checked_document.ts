import { z } from "zod";
import { unknownName, UsageError } from "../../errors.ts";

/** What a schema is of, without its defaults. */
function bare(shape: unknown): unknown {
  let at = shape;
  while (
    at instanceof z.ZodDefault || at instanceof z.ZodPrefault || at instanceof z.ZodOptional ||
    at instanceof z.ZodNullable
  ) {
    at = at.unwrap();
  }
  return at;
}

function within(shape: unknown, step: PropertyKey): unknown {
  if (shape instanceof z.ZodArray) return shape.element;
  if (shape instanceof z.ZodRecord) return shape.valueType;
  if (shape instanceof z.ZodUnion) {
    return shape.options.map(bare).find((one) => one instanceof z.ZodObject);
  }
  return shape instanceof z.ZodObject ? shape.shape[String(step)] : undefined;
}

/** Fields of the object that a fault lies in. */
function knownFields(place: readonly PropertyKey[], shape: z.ZodType): readonly string[] {
  const at = place.reduce<unknown>((found, step) => bare(within(found, step)), bare(shape));
  const own = at instanceof z.ZodUnion ? within(at, "") : at;
  return own instanceof z.ZodObject ? Object.keys(own.shape) : [];
}

/** A place in a document, such as `experiments[0].configs[1].id`. */
function placeOf(where: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (before, step) =>
      typeof step === "number"
        ? `${before}[${step}]`
        : before === ""
        ? String(step)
        : `${before}.${String(step)}`,
    where,
  );
}

function sentence(issue: z.core.$ZodIssue, where: string, shape: z.ZodType): string {
  const place = placeOf(where, issue.path);
  if (issue.code === "unrecognized_keys") {
    const of = place === "" ? "field" : `field of ${place}`;
    return unknownName(of, issue.keys[0]!, knownFields(issue.path, shape));
  }
  if (issue.code === "invalid_union") {
    const inner = issue.errors.flat().find((one) => one.code === "unrecognized_keys");
    if (inner !== undefined) {
      return sentence({ ...inner, path: [...issue.path, ...inner.path] }, where, shape);
    }
  }
  if (issue.code === "invalid_value" && issue.values.length > 1) {
    return `Cannot take ${place}: it is one of ${issue.values.join(", ")}`;
  }
  return `Cannot take ${place === "" ? "it" : place}: ${
    issue.message.replace(/^Invalid input: /, "")
  }`;
}

/** A part of a document as its schema has it. @throws UsageError each fault with its place below `where` */
export function checked<S extends z.ZodType>(
  shape: S,
  given: unknown,
  where: string,
): z.output<S> {
  const read = shape.safeParse(given);
  if (read.success) return read.data;
  throw new UsageError(read.error.issues.map((one) => sentence(one, where, shape)).join("; "));
}
