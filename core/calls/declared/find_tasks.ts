import { z } from "zod";
import { FoundTask } from "../../schemas/data/found_task.ts";
import { defineCall } from "../define_call.ts";

/** Benchmarks that are no plugin: what a name of lm-eval or a task file stands for. */
export const find_tasks = defineCall("find_tasks", {
  request: {
    tasks: z.array(z.strictObject({
      asked: z.string().describe("as the user wrote it"),
      kind: z.enum(["name", "file"]),
      target: z.string().describe("lm-eval's name, or the absolute path of a task file"),
    })),
    trust_task_code: z.boolean().describe("a task file may name functions of its own"),
  },
  result: z.strictObject({
    found: z.array(z.strictObject({
      asked: z.string(),
      tasks: z.array(FoundTask).describe("none: there is no such task"),
      near: z.array(z.string()).describe("names much like it"),
      reason: z.string().nullable().describe("why it cannot be had; null: it can, or is unknown"),
    })),
  }),
  imports: "tasks",
});
