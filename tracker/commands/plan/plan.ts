import { writeFile } from "node:fs/promises";
import { unknownName, UsageError } from "../../../core/errors.ts";
import { type Server, SERVERS } from "../../../core/serving/plan/schema.ts";
import { type PlanAsked, planModel } from "../../lab/serving/plan_model.ts";
import { contextTable } from "../../show/plan/memory_rows.ts";
import { planText } from "../../show/plan/plan_text.ts";

/** What `pare plan` takes; numbers as they were typed. */
interface PlanOptions {
  readonly gpus: string;
  readonly context?: string;
  readonly sequences?: string;
  readonly utilization?: string;
  readonly kvCacheDtype?: string;
  readonly tensorParallel?: string;
  readonly pipelineParallel?: string;
  readonly batchedTokens?: string;
  readonly server?: string;
  readonly measured?: string;
  readonly port?: string;
  readonly container?: boolean;
  readonly table?: boolean;
  readonly figure?: string;
  readonly store?: string;
  readonly json?: boolean;
}

/** `32k` is 32,768 tokens, as people write a context. */
function number(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const found = /^(\d+(?:\.\d+)?)([kKmM]?)$/.exec(text.trim().replaceAll(",", ""));
  if (found === null) {
    throw new UsageError(`Cannot take ${flag} ${text}: it is a number, such as 32768 or 32k`);
  }
  const times = { "": 1, k: 1024, m: 1024 ** 2 }[found[2]!.toLowerCase()] ?? 1;
  return Number(found[1]) * times;
}

function serversOf(text: string | undefined): readonly Server[] {
  if (text === undefined) return SERVERS;
  return text.split(",").map((name) => {
    const known = SERVERS.find((one) => one === name.trim());
    if (known === undefined) throw new UsageError(unknownName("server", name, SERVERS));
    return known;
  });
}

/** A property for each value that is there. */
function given<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> }; // as filtered
}

function askedOf(model: string, options: PlanOptions): PlanAsked {
  return given({
    ...{ model, gpus: options.gpus, store: options.store, measured: options.measured },
    context: number("--context", options.context),
    sequences: number("--sequences", options.sequences),
    utilization: number("--utilization", options.utilization),
    cache_type: options.kvCacheDtype,
    tensor_parallel: number("--tensor-parallel", options.tensorParallel),
    pipeline_parallel: number("--pipeline-parallel", options.pipelineParallel),
    batched_tokens: number("--batched-tokens", options.batchedTokens),
    port: number("--port", options.port),
    servers: serversOf(options.server),
  });
}

/** `pare plan`: needs no environment, starts nothing, and never reads a weight. */
export async function planCommand(name: string, options: PlanOptions): Promise<void> {
  const found = await planModel(askedOf(name, options), Deno.env.toObject());
  if (options.figure !== undefined) {
    const { planFigure } = await import("../../show/plan/plan_figure.ts");
    await writeFile(options.figure, planFigure(found));
  }
  if (options.json) {
    const { jsonText } = await import("../../show/json/print_json.ts");
    return console.log(jsonText("plan", found));
  }
  console.log(
    options.table
      ? contextTable(found)
      : planText(found, { container: options.container ?? false }),
  );
}
