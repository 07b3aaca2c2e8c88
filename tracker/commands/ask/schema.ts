import { z } from "zod";
import {
  Action,
  Handoff,
  ResultReport,
  ResultVector,
  Strategy,
  StudyDocument,
} from "../../../core/mod.ts";
import { outputSchema } from "../../show/json/print_json.ts";

const SCHEMAS = {
  action: Action,
  strategy: Strategy,
  result: z.object({ vector: ResultVector, report: ResultReport }),
  study: StudyDocument,
  handoff: Handoff,
} as const;

/** Prints the JSON schemas of what goes in and out, and of what `--json` prints; all of the first
 * where none is named. */
export function schemaCommand(what?: keyof typeof SCHEMAS | "json"): void {
  if (what === "json") return console.log(JSON.stringify(outputSchema(), null, 2));
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
