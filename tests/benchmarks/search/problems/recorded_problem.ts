import { readFile } from "node:fs/promises";
import { z } from "zod";
import { checkPoint, type Dimension, hypervolume, pointKey } from "../../../../core/mod.ts";
import type { Problem } from "./problem.ts";

const Value = z.union([z.number(), z.string(), z.boolean()]);

/** A table of recipes that were really run: the file of `--table`. */
export const RecordedTable = z.strictObject({
  name: z.string().regex(/^[a-z0-9_]+$/),
  source: z.string().describe("what was run, on which machine, by which command"),
  dimensions: z.array(z.strictObject({
    name: z.string(),
    kind: z.enum(["real", "integer", "ordinal", "choice"]),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    log: z.boolean().optional(),
    choices: z.array(Value).optional(),
    default: Value.optional(),
    when: z.strictObject({ name: z.string(), is: z.array(Value) }).optional(),
  })),
  objectives: z.array(z.strictObject({
    metric: z.string(),
    direction: z.enum(["minimize", "maximize"]),
    reference: z.number(),
  })).min(1),
  rows: z.array(z.strictObject({
    point: z.record(z.string(), Value),
    values: z.array(z.number()).nullable().describe("null: it failed, or cannot run"),
    standard_errors: z.array(z.number()).optional().describe("of the values; 0: it is exact"),
    expected_kl: z.number().nullable().optional().describe(
      "beforehand, by the scores of the model's layers; null: no formula tells",
    ),
    seconds: z.number().nullable().optional().describe("that the actions took"),
    reason: z.string().optional().describe("why there are no values"),
  })).min(1),
});
export type RecordedTable = z.infer<typeof RecordedTable>;

/** What is expected beforehand of the rows of a table whose model's layers were scored. */
function expectationsOf(
  { rows, objectives }: RecordedTable,
  space: Problem["space"],
): Pick<Problem, "expected"> {
  const told = new Map(
    rows.flatMap(({ point, expected_kl }) =>
      expected_kl === undefined ? [] : [[pointKey(space, point), expected_kl] as const]
    ),
  );
  if (told.size === 0) return {};
  return {
    expected: (point) =>
      objectives.map(({ metric }) =>
        metric === "kl" ? told.get(pointKey(space, point)) ?? null : null
      ),
  };
}

/**
 * The table as a problem. A point is looked up, never the nearest one: what was not run is invalid, for
 * every sampler alike, so the space should be one that the table fills.
 */
export function recordedProblem(table: RecordedTable): Problem {
  const { name, objectives, rows } = table;
  const space = { dimensions: table.dimensions as Dimension[] };
  const width = objectives.length;
  const signs = objectives.map(({ direction }) => direction === "maximize" ? -1 : 1);
  const recorded = new Map<string, number[] | null>();
  rows.forEach(({ point, values }, row) => {
    const reason = checkPoint(space, point);
    const key = pointKey(space, point);
    const wrong = reason ??
      (recorded.has(key)
        ? "its point stands in the table twice"
        : values !== null && values.length !== width
        ? `it has ${values.length} values for ${width} objectives`
        : null);
    if (wrong !== null) throw new Error(`Cannot use row ${row} of the table ${name}: ${wrong}`);
    recorded.set(key, values?.map((value, k) => signs[k]! * value) ?? null);
  });
  const reference = objectives.map((one, k) => signs[k]! * one.reference);
  const measured = [...recorded.values()].filter((one) => one !== null);
  const maximum = hypervolume(measured, reference, reference.map(() => "minimize" as const));
  if (!(maximum > 0)) throw new Error(`Cannot use the table ${name}: no row beats its reference`);
  const evaluate: Problem["evaluate"] = (point) => recorded.get(pointKey(space, point)) ?? null;
  return {
    name,
    space,
    reference,
    maximum,
    tuned: false,
    evaluate,
    ...expectationsOf(table, space),
  };
}

/** Reads and checks a table. */
export async function readRecordedProblem(path: string): Promise<Problem> {
  return recordedProblem(RecordedTable.parse(JSON.parse(await readFile(path, "utf8"))));
}
