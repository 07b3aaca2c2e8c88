import { z } from "zod";
import { DeviceFacts } from "../../schemas/facts.ts";
import { defineCall } from "../define_call.ts";

/** What machine this is. */
export const inspect_device = defineCall("inspect_device", {
  request: {
    disk_path: z.string(),
    country: z.string().nullable().optional().describe("whose electricity; null: the world's mean"),
  },
  result: DeviceFacts,
  imports: "torch",
  preload: false, // the first call of a study asks torch alone for its device
});
