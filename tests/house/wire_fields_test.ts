import assert from "node:assert/strict";
import { z } from "zod";
import { CALLS } from "../../core/calls/calls.ts";
import { python, type PythonSource } from "./sources.ts";

/** What zod says of an object in JSON Schema. */
interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** A field with a default may be left out on both sides. */
function schemaOf(type: z.ZodType): Schema {
  return z.toJSONSchema(type, { io: "input", unrepresentable: "any" }) as Schema;
}

/** The object that a field holds, itself, in a list, in a record, or beside null; null: none. */
function objectIn(schema: Schema): Schema | null {
  if (schema.properties !== undefined) return schema;
  const inner = [...(schema.anyOf ?? []), ...(schema.items === undefined ? [] : [schema.items])];
  if (typeof schema.additionalProperties === "object") inner.push(schema.additionalProperties);
  return inner.map(objectIn).find((found) => found !== null) ?? null;
}

type Dataclasses = PythonSource["dataclasses"];

/** What differs between an object of the wire and the dataclass that it becomes. */
function differences(schema: Schema, name: string, classes: Dataclasses, where: string): string[] {
  const fields = classes[name];
  if (fields === undefined) return [`${where}: there is no dataclass ${name}`];
  const sent = Object.keys(schema.properties ?? {}).filter((field) => field !== "call");
  const required = new Set(schema.required);
  return [
    ...sent.filter((field) => !(field in fields)).map((field) =>
      `${where}.${field}: not in ${name}`
    ),
    ...Object.keys(fields).filter((field) => !sent.includes(field))
      .map((field) => `${where}.${field}: only in ${name}`),
    ...sent.filter((field) => field in fields).flatMap((field) => {
      const { default: optional, names } = fields[field]!;
      const own = optional === required.has(field)
        ? [`${where}.${field}: ${optional ? "optional" : "required"} in ${name} alone`]
        : [];
      const held = names.find((one) => one in classes);
      const inner = objectIn(schema.properties![field]!);
      if (held === undefined || inner === null) return own;
      return [...own, ...differences(inner, held, classes, `${where}.${field}`)];
    }),
  ];
}

async function read() {
  const sources = await python(["python-backends/pare_backends"]);
  const classes: Dataclasses = Object.assign(
    {},
    ...[...sources.values()].map((s) => s.dataclasses),
  );
  const paths = [...sources.keys()].filter((path) => path.includes("pare_backends/calls/"));
  const nameOf = (path: string) => path.replace(/^.*\/(\w+)\.py$/, "$1");
  const callOf = (name: string) => {
    const path = paths.find((one) => nameOf(one) === name) ?? `calls/${name}.py`;
    return { path, source: sources.get(path) };
  };
  const files = paths.map(nameOf);
  return { classes, callOf, files };
}

Deno.test("every call's request has the same fields on both sides of the wire", async () => {
  const { classes, callOf, files } = await read();
  assert.deepEqual(files.sort(), Object.keys(CALLS).sort());
  const wrong = Object.values(CALLS).flatMap(({ name, request }) => {
    const { path, source } = callOf(name);
    if (source?.call == null) return [`${name}: ${path} has no run`];
    // Several calls name their request `Request`: the file's own is meant.
    return differences(schemaOf(request), source.call.request, {
      ...classes,
      ...source.dataclasses,
    }, name);
  });
  assert.deepEqual(wrong, []);
});

Deno.test("a call answers with the fields that the wire has", async () => {
  const { callOf } = await read();
  let compared = 0;
  for (const { name, result } of Object.values(CALLS)) {
    const { properties = {}, required = [] } = schemaOf(result);
    // An answer that another function writes is checked when it comes, by the client.
    for (const fields of callOf(name).source!.call!.answers) {
      compared++;
      const unknown = fields.filter((field) => !(field in properties));
      const missing = required.filter((field) => !fields.includes(field));
      assert.deepEqual({ unknown, missing }, { unknown: [], missing: [] }, name);
    }
  }
  assert.ok(compared >= 6, `only ${compared} answers are spelled out in their call`);
});

Deno.test("a field of one side alone is found, also in what a request holds", () => {
  const schema = schemaOf(
    z.object({ a: z.string(), b: z.array(z.object({ c: z.int(), d: z.int() })), e: z.int() }),
  );
  const field = (names: string[], optional = false) => ({ default: optional, names });
  const classes = {
    Outer: { a: field(["str"]), b: field(["list", "Inner"]), e: field(["int"], true) },
    Inner: { c: field(["int"]), x: field(["int"]) },
  };
  assert.deepEqual(differences(schema, "Outer", classes, "s"), [
    "s.b.d: not in Inner",
    "s.b.x: only in Inner",
    "s.e: optional in Outer alone",
  ]);
});
