import { z } from "zod";
import { ConversionFacts } from "../../../conversion/facts.ts";
import { defineCall } from "../../define_call.ts";

/** Reads converted files back in this fresh process and compares them with their source. */
export const check_conversion = defineCall("check_conversion", {
  request: {
    format: z.string(),
    files_dir: z.string().describe("written by convert"),
    artifact_dir: z.string(),
    tool_python: z.string().optional().describe(
      "the interpreter of the environment of the program that such files are for",
    ),
  },
  result: ConversionFacts,
  of_trial: true,
});
