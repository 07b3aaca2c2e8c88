import { z } from "zod";
import { FailureKind } from "./failure.ts";

/** A number that may be NaN or infinite, as JSON can carry it. */
export const WireNumber = z.preprocess(
  (value) =>
    value === "NaN"
      ? NaN
      : value === "Infinity"
      ? Infinity
      : value === "-Infinity"
      ? -Infinity
      : value,
  z.number().or(z.nan()).or(z.literal(Infinity)).or(z.literal(-Infinity)),
);

/** What a worker says, one JSON object a line. */
export const WorkerEvent = z.discriminatedUnion("event", [
  z.strictObject({ event: z.literal("ready"), pid: z.int(), imports_seconds: z.number() }),
  z.strictObject({ event: z.literal("started"), request_id: z.string(), call: z.string() }),
  z.strictObject({
    event: z.literal("progress"),
    label: z.string(),
    done: z.number(),
    total: z.number().nullable(),
    unit: z.string(),
  }),
  z.strictObject({
    event: z.literal("waiting"),
    seconds: z.number().nonnegative().describe("until it goes on by itself"),
    why: z.string(),
  }),
  z.strictObject({
    event: z.literal("turn").describe("it has loaded what it times, and waits for a line"),
  }),
  z.strictObject({
    event: z.literal("span"),
    name: z.string(),
    seconds: z.number(),
    library: z.boolean(),
  }),
  z.strictObject({
    event: z.literal("points"),
    points: z.array(z.strictObject({
      step: z.int(),
      happened_at: z.int().describe("milliseconds since 1970"),
      values: z.record(z.string().min(1), WireNumber).describe("by metric"),
    })).max(500).describe("some at a time, while the call goes on"),
  }),
  z.strictObject({
    event: z.literal("alert"),
    condition: z.string(),
    evidence: z.string(),
  }),
  z.strictObject({ event: z.literal("result"), call: z.string(), result: z.unknown() }),
  z.strictObject({
    event: z.literal("failure"),
    kind: FailureKind,
    message: z.string(),
    hint: z.string().nullable(),
    traceback: z.string().nullable(),
  }),
]);
export type WorkerEvent = z.infer<typeof WorkerEvent>;
