import { z } from "zod";
import { unknownName } from "../errors.ts";
import type { RunRequest } from "../schemas/request.ts";
import { KINDS } from "./kinds.ts";
import type { RunKind, WrittenDocument } from "./run_kind.ts";

/** The kind of run that a request asks for. */
export function kindOf({ kind }: Pick<RunRequest, "kind">): RunKind {
  const known = KINDS.find(({ name }) => name === kind);
  if (known !== undefined) return known;
  throw new Error(unknownName("kind of run", kind, KINDS.map(({ name }) => name)));
}

/** Kinds whose own fields a document has. */
function kindsIn(document: WrittenDocument): RunKind[] {
  return KINDS.filter(({ plan }) => plan.some((field) => document[field] !== undefined));
}

/**
 * The kind that a document is of: the one that it names; of one that names none, as all were before
 * kinds had names, the kind whose own field it has, and a search where it has no such field.
 */
export function kindAsked(document: WrittenDocument): RunKind | { readonly problem: string } {
  const found = kindsIn(document);
  const fields = found.flatMap(({ plan }) => plan).filter((one) => document[one] !== undefined);
  const { kind: name } = document;
  const names = KINDS.map((one) => one.name);
  if (name === undefined) {
    if (found.length < 2) return found[0] ?? KINDS[0];
    const problem =
      `Cannot tell which kind of run is meant with ${fields.join(" and ")}: a document ` +
      "has one kind; leave one out";
    return { problem };
  }
  const kind = KINDS.find((one) => one.name === name);
  if (kind === undefined) return { problem: unknownName("kind of run", String(name), names) };
  const other = found.find((one) => one !== kind);
  if (other === undefined) return kind;
  const problem =
    `Cannot take ${other.plan.filter((field) => fields.includes(field)).join(" and ")} ` +
    `in a run of kind "${kind.name}": a document has one kind; leave it out, or say kind: ${other.name}`;
  return { problem };
}

/** What a user asks for, by kinds: the document of `pare run study.json` and of the notebook. */
const RequestByKind = z.discriminatedUnion("kind", schemasOf(KINDS));

/** The documents of kinds, one by one as they stand there. */
function schemasOf<K extends readonly { readonly request: unknown }[]>(kinds: K) {
  return kinds.map(({ request }) => request) as { -readonly [I in keyof K]: K[I]["request"] };
}

/** The same of a document in any form: one that names no kind gets its own. */
export const StudyRequest = z.preprocess((document, context) => {
  if (typeof document !== "object" || document === null || Array.isArray(document)) return document;
  const kind = kindAsked(document as WrittenDocument); // any object; its fields are checked by the schema
  if (!("problem" in kind)) {
    const said = Object.entries(document).filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(said), kind: kind.name };
  }
  context.addIssue({ code: "custom", path: ["kind"], message: kind.problem });
  return z.NEVER;
}, RequestByKind);
export type StudyRequest = z.infer<typeof StudyRequest>;

/** A document as people write it: its kind may be left out. What is given to people as a schema. */
export const StudyDocument = z.union(
  KINDS.map(({ request }) =>
    z.strictObject({ ...request.shape, kind: request.shape.kind.optional() })
  ),
);

type Written<K> = K extends
  { readonly request: z.ZodType<unknown, infer D extends { kind: string }> }
  ? Omit<D, "kind"> & { kind?: D["kind"] }
  : never;
export type StudyRequestInput = Written<typeof KINDS[number]>;
