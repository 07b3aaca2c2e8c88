import { z } from "zod";
import { Numerics } from "../../schemas/measurement.ts";
import { TimedCache } from "../../schemas/caches/timed_cache.ts";
import { RuntimeDir } from "../folders.ts";
import { defineCall } from "../define_call.ts";

/** Speed and bytes of a runtime's cache under several settings, by the length of the prompt. */
export const time_caches = defineCall("time_caches", {
  request: {
    runtime: z.string(),
    artifact_dir: z.string(),
    form_dir: z.string().describe("made by make_form"),
    settings: z.array(z.strictObject({
      name: z.string(),
      params: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    })).describe("the first keeps everything: each other is measured in turn with it"),
    contexts: z.array(z.int()).describe("tokens of a prompt"),
    new_tokens: z.int().describe("that are generated after it"),
    passes: z.int().describe("pairs of each setting and context"),
    seed: z.int(),
    runtime_dir: RuntimeDir,
  },
  result: z.strictObject({
    caches: z.array(TimedCache),
    refused: z.array(z.strictObject({ setting: z.string(), reason: z.string() })).describe(
      "settings that could not be measured here: the others were",
    ),
    numerics: z.record(z.string(), Numerics).describe("by setting"),
    version: z.string().describe("of the runtime's library"),
    bytes_method: z.string().describe("how bytes of a cache are read"),
    threads: z.int(),
    load_average: z.number(),
  }),
  timed: true,
});
