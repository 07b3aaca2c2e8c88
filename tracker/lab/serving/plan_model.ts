import { z } from "zod";
import { unknownName, UsageError } from "../../../core/errors.ts";
import { plan } from "../../../core/serving/plan/plan.ts";
import { SERVERS, type ServingPlan } from "../../../core/serving/plan/schema.ts";
import { hubFolders } from "./hub_config.ts";
import { plannedModel } from "./planned_model.ts";

/** What a plan is asked for; everything but the model and the cards has a default. */
export const PlanAsked = z.strictObject({
  model: z.string().min(1).describe("a folder, a config.json, a trial, or a name of the hub"),
  gpus: z.string().min(1).describe("such as 8xH100-80"),
  context: z.number().optional().describe("tokens of a sequence; default: the longest that fits"),
  sequences: z.number().optional().describe("held at once at that context; default: 1"),
  utilization: z.number().optional().describe("share of a card that a server takes; default: 0.92"),
  cache_type: z.string().optional().describe("auto, fp8, nvfp4, …; default: as the model asks"),
  batched_tokens: z.number().optional().describe("read in one step; default: vLLM's for the card"),
  tensor_parallel: z.number().optional().describe("exactly so many; default: what fits"),
  pipeline_parallel: z.number().optional().describe("exactly so many; default: what fits"),
  servers: z.array(z.enum(SERVERS)).readonly().optional().describe("default: all"),
  port: z.number().optional().describe("of the commands; default: 8000"),
  store: z.string().optional().describe("where a trial is looked up; default: PARE_HOME's"),
  measured: z.string().optional().describe("a load of `pare load` on these very cards, by its id"),
});
export type PlanAsked = z.infer<typeof PlanAsked>;

/** A name that is wrong comes first: it is why another is missing. */
function sentence(issues: readonly z.core.$ZodIssue[]): string {
  const odd = issues.find((issue) => issue.code === "unrecognized_keys");
  if (odd !== undefined) {
    return unknownName("field of a plan", odd.keys[0]!, Object.keys(PlanAsked.shape));
  }
  const { path, message } = issues[0]!;
  return `Cannot plan with this ${path.join(".")}: ${message}`;
}

/**
 * What it takes to serve a model. Of a name of the hub its config alone is fetched, where it is not in
 * the local cache; weights are never read.
 *
 * @throws UsageError a field, model, card or number that cannot be read
 */
export async function planModel(
  given: PlanAsked,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ServingPlan> {
  const read = PlanAsked.safeParse(given);
  if (!read.success) throw new UsageError(sentence(read.error.issues));
  const { store, measured, ...rest } = read.data;
  const asked = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== undefined),
  ) as unknown as Parameters<typeof plan>[0]; // what is not given is left out, as the type wants it
  const found = await plannedModel(read.data.model, {
    env,
    ...(store === undefined ? {} : { store }),
  });
  const loaded = measured === undefined
    ? {}
    : { measured: await (await import("./measured_steps.ts")).measuredSteps(measured, store, env) };
  return plan({ ...asked, ...found, ...loaded, ...hubFolders(env) });
}
