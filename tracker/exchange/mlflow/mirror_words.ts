import { z } from "zod";
import { CHECKPOINTS } from "./checkpoints.ts";

/** What the mirror's process is told: a line of JSON each on its standard input. */
export const MirrorAsk = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("open"),
    root: z.string(),
    reports: z.string(),
    uri: z.string(),
    variables: z.record(z.string(), z.string()),
    experiment: z.string(),
    checkpoints: z.enum(CHECKPOINTS),
    max_file_bytes: z.number(),
  }),
  z.strictObject({ kind: z.literal("follow"), study_id: z.string(), from: z.int().nullable() }),
  z.strictObject({
    kind: z.literal("read"),
    to: z.record(z.string().describe("study"), z.int().describe("place before which all is read")),
    now: z.boolean(),
    turn: z.int(),
  }),
  z.strictObject({ kind: z.literal("pause") }),
  z.strictObject({ kind: z.literal("go") }),
]);
export type MirrorAsk = z.infer<typeof MirrorAsk>;

/** How far the mirror is. */
export const MirrorState = z.strictObject({
  reached: z.record(z.string(), z.int()).describe(
    "by study: place before which all is on the server",
  ),
  turn: z.int().describe("the last turn that was asked for and is done"),
  trouble: z.string().nullable().describe("why it does not go on for now; null: it does"),
  ended: z.boolean().describe("it has given up: nothing changes without another start"),
});
export type MirrorState = z.infer<typeof MirrorState>;

/** What the mirror's process tells: a line of JSON each on its standard output. */
export const MirrorTold = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("state"), state: MirrorState }),
  z.strictObject({
    kind: z.literal("said"),
    sentence: z.string().describe("what is there otherwise than expected, or not at all"),
  }),
]);
export type MirrorTold = z.infer<typeof MirrorTold>;
