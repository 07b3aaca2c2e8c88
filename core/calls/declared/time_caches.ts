import { z } from "zod";
import { AskedCache, TimedCaches } from "../../schemas/caches/timed_cache.ts";
import { RuntimeDir } from "../folders.ts";
import { defineCall } from "../define_call.ts";

/** Speed and bytes of a runtime's cache under several settings, by the length of the prompt. */
export const time_caches = defineCall("time_caches", {
  request: {
    runtime: z.string(),
    artifact_dir: z.string(),
    form_dir: z.string().describe("made by make_form"),
    settings: z.array(AskedCache).describe(
      "the first keeps everything: each other is measured in turn with it",
    ),
    contexts: z.array(z.int()).describe("tokens of a prompt"),
    new_tokens: z.int().describe("that are generated after it"),
    turn_tokens: z.int().describe("of them in one cache before the other's turn"),
    passes: z.int().describe("pairs of each setting and context"),
    seed: z.int(),
    runtime_dir: RuntimeDir,
  },
  result: TimedCaches,
  timed: true,
});
