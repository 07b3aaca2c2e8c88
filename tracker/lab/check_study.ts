import { z } from "zod";
import {
  checkRungs,
  kindAsked,
  type RunKind,
  StudyRequest,
  unknownName,
  UsageError,
} from "../../core/mod.ts";
import { addressProblem } from "../../core/schemas/endpoint.ts";
import { checkFamilies } from "./search/model_families.ts";

/** A schema without the wrappers that say what happens where nothing is given. */
function bare(schema: unknown): unknown {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault ||
      schema instanceof z.ZodOptional
    ? bare(schema.unwrap())
    : schema instanceof z.ZodUnion
    ? bare(schema.options[0])
    : schema;
}

/** Names that may stand at a place of a kind's document; empty where it has none. */
function namesAt(path: readonly PropertyKey[], { request }: Pick<RunKind, "request">): string[] {
  let schema: unknown = request;
  for (const step of path) {
    const here = bare(schema);
    if (here instanceof z.ZodObject) schema = here.shape[String(step)];
    else if (here instanceof z.ZodArray) schema = here.element;
    else return [];
  }
  const here = bare(schema);
  if (here instanceof z.ZodObject) return Object.keys(here.shape);
  if (here instanceof z.ZodRecord && here.keyType instanceof z.ZodEnum) {
    return here.keyType.options.map(String);
  }
  return [];
}

function valueAt(document: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null
        ? (value as Record<PropertyKey, unknown>)[step] // any field of an object may be asked for
        : undefined,
    document,
  );
}

/** An address is shown without what may be a key in it: what stands before @ and behind ?. */
function withoutSecrets(field: string, shown: string): string {
  if (!field.endsWith("base_url")) return shown;
  return shown.replace(/\/\/[^/]*@/, "//…@").replace(/[?#][^"]*/, "?…");
}

function sentence(issue: z.core.$ZodIssue, document: unknown, kind: RunKind): string {
  const field = issue.path.join(".");
  if (issue.code === "unrecognized_keys") {
    const where = field === "" ? "field" : `field of ${field}`;
    return issue.keys.map((key) => unknownName(where, key, namesAt(issue.path, kind))).join("; ");
  }
  const value = valueAt(document, issue.path);
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    // The way of writing it that fits best: with fewest fields that are none of it.
    const strange = (errors: readonly z.core.$ZodIssue[]) =>
      errors.flatMap((one) => one.code === "unrecognized_keys" ? one.keys : []).length;
    const [nearest] = issue.errors.toSorted((a, b) => strange(a) - strange(b));
    return nearest!.map((one) => {
      const whole = { ...one, path: [...issue.path, ...one.path] };
      return sentence(whole, document, kind);
    }).join("; ");
  }
  if (value === undefined) return `Cannot start without "${field}": it is not given`;
  if (issue.code === "invalid_value" && typeof value === "string") {
    return unknownName(`value of "${field}"`, value, issue.values.map(String));
  }
  const shown = withoutSecrets(field, JSON.stringify(value)).slice(0, 60);
  const why = issue.message.replace(/^Invalid input: /, "");
  return `Cannot take "${field}": ${shown} is refused (${why})`;
}

/** Refuses addresses that may hold a key, wherever a document has one: records of earlier studies are read. */
function checkAddresses(asked: unknown, path: readonly string[] = []): void {
  if (typeof asked !== "object" || asked === null) return;
  for (const [name, value] of Object.entries(asked)) {
    const here = [...path, name];
    const field = here.join(".");
    const why = name === "base_url" && typeof value === "string" ? addressProblem(value) : null;
    if (why !== null) {
      const shown = withoutSecrets(field, JSON.stringify(value)).slice(0, 60);
      throw new UsageError(`Cannot take "${field}": ${shown} is refused (${why})`);
    }
    checkAddresses(value, here);
  }
}

/**
 * Checks a study document; every fault is one sentence that names the field and its value. What follows
 * from the plan of its kind of run (the rungs and the dataset of a staged one) it gets here, so that a
 * notebook's runs as a file's does.
 */
export function checkStudy(document: unknown, from: string): StudyRequest {
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    const shown = JSON.stringify(document)?.slice(0, 60);
    throw new UsageError(
      `Cannot take the ${from}: it must be an object with model_name and dataset, not ${shown}`,
    );
  }
  const kind = kindAsked({ ...document });
  if ("problem" in kind) throw new UsageError(`${from}: ${kind.problem}`);
  const asked = kind.complete({ ...document });
  const parsed = StudyRequest.safeParse(asked);
  if (parsed.success) {
    checkRungs(parsed.data);
    checkFamilies(parsed.data);
    checkAddresses(parsed.data);
    return parsed.data;
  }
  const faults = parsed.error.issues.map((issue) => sentence(issue, asked, kind));
  throw new UsageError(`${from}: ${faults.join("; ")}`);
}
