import { z } from "zod";

/** Characters of `bytes` bytes in base64. */
function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/**
 * A column of whole numbers, such as steps: evenly spaced; or the first one and the differences
 * that follow, as signed integers of 1, 2 or 4 bytes; or each as a Float64. Base64, little-endian.
 */
export const IntegerColumn = z.union([
  z.strictObject({ first: z.int(), by: z.int() }),
  z.strictObject({ first: z.int(), bytes: z.literal([1, 2, 4]), differences: z.string() }),
  z.strictObject({ exact: z.string() }),
]);
export type IntegerColumn = z.infer<typeof IntegerColumn>;

function columnFits(column: IntegerColumn, rows: number): boolean {
  if ("by" in column) return Number.isSafeInteger(column.first + column.by * (rows - 1));
  return "exact" in column
    ? column.exact.length === base64Length(8 * rows)
    : column.differences.length === base64Length(column.bytes * (rows - 1));
}

/**
 * Points of one trial: some metrics at the same steps. The values stand bit for bit as they were
 * logged, in columns of Float64, so that any number costs 11 bytes and none is parsed by itself.
 */
export const Points = z.strictObject({
  type: z.literal("points"),
  at: z.string(),
  study_id: z.string(),
  trial_id: z.string(),
  action_index: z.int().optional().describe(
    "number of the action that logged them, from 0; absent: they were logged by hand",
  ),
  metrics: z.array(z.string().min(1)).min(1),
  rows: z.int().positive().describe("steps; there are rows x metrics points"),
  step: IntegerColumn,
  happened_at: IntegerColumn.describe("milliseconds since 1970"),
  values: z.string().describe("base64 of Float64, little-endian: one metric after the other"),
}).refine(
  ({ metrics, rows, step, happened_at, values }) =>
    values.length === base64Length(8 * rows * metrics.length) && columnFits(step, rows) &&
    columnFits(happened_at, rows),
  "a column is shorter or longer than rows says",
);
export type Points = z.infer<typeof Points>;
