import { z } from "zod";
import { ErrorShape, type Operation, OPERATIONS } from "./operations.ts";

type Json = Record<string, unknown>;

const schemaOf = (schema: z.ZodType, io: "input" | "output"): Json => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json;
  return rest;
};

/** `/api/studies/:study` as OpenAPI has it, and the names in it. */
function pathOf(path: string): { path: string; names: string[] } {
  const plain = path.replace(/:(\w+)/g, "{$1}");
  return { path: plain, names: [...plain.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!) };
}

function parametersOf({ path, query }: Operation): Json[] {
  const inPath = pathOf(path).names.map((name) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
  const { properties = {}, required = [] } = schemaOf(query, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    ...{ name, in: "query", required: required.includes(name), schema },
  }));
  return [...inPath, ...inQuery];
}

function operationOf(name: string, operation: Operation): Json {
  const { answer, body, summary, status } = operation;
  const content = typeof answer === "string"
    ? { [answer]: { schema: { type: "string" } } }
    : { "application/json": { schema: schemaOf(answer, "output") } };
  const refusal = {
    description: "a sentence, as the command line has it",
    content: { "application/json": { schema: schemaOf(ErrorShape, "output") } },
  };
  return {
    operationId: name,
    summary,
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : {
      requestBody: {
        required: true,
        content: { "application/json": { schema: schemaOf(body, "input") } },
      },
    }),
    responses: { [status]: { description: summary, content }, default: refusal },
  };
}

/** The description of the JSON interface, made from what its requests are checked by. */
export function openApi(version: string): Json {
  const paths: Record<string, Json> = {};
  for (const [name, operation] of Object.entries(OPERATIONS) as [string, Operation][]) {
    const { path } = pathOf(operation.path);
    paths[path] = { ...paths[path], [operation.method]: operationOf(name, operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "pare board",
      version,
      description:
        "The store of pare over HTTP, on this machine. Every request carries the token " +
        "that `pare board` printed.",
    },
    security: [{ token: [] }],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    paths,
  };
}
