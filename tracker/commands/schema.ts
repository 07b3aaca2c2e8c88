import { z } from "zod";
import { Action, ResultReport, ResultVector, Strategy, StudyRequest } from "../../core/mod.ts";

const SCHEMAS = {
  action: Action,
  strategy: Strategy,
  result: z.object({ vector: ResultVector, report: ResultReport }),
  study: StudyRequest,
} as const;

/** Prints the JSON schemas of what goes in and out; all of them where none is named. */
export function schemaCommand(what?: keyof typeof SCHEMAS): void {
  const shown = what === undefined
    ? Object.fromEntries(
      Object.entries(SCHEMAS).map(([name, schema]) => [
        name,
        z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }),
      ]),
    )
    : z.toJSONSchema(SCHEMAS[what], { io: "input", unrepresentable: "any" });
  console.log(JSON.stringify(shown, null, 2));
}
