import {
  flagOf,
  type ServerCommand,
  type ServingPlan,
  UsageError,
  withFlag,
} from "../../core/mod.ts";
import { planModel } from "../lab/serving/plan_model.ts";
import type { Address } from "./own_server.ts";

/** A server as a plan would have it, and what the plan warns of. */
export interface PlannedServer {
  readonly command: ServerCommand;
  readonly warnings: readonly string[];
}

/** What is asked of a plan. */
export interface PlanChoices {
  readonly name: string;
  /** What the server loads. */
  readonly model: string;
  /** Such as 2xH100-80. */
  readonly gpus: string;
  readonly container: boolean;
  readonly address: Address;
  readonly max_model_len?: number;
  readonly store: string;
}

type Layout = ServingPlan["plans"][number];

/** Cards and sequences in words, and whether it fits. */
function foreseen({ fits, why_not, longest_context: [longest], cards }: Layout): string {
  const on = `on ${cards} ${cards === 1 ? "card" : "cards"}`;
  return fits
    ? `the plan says that it fits ${on} with ${longest} tokens of context at most`
    : `the plan says that it does not fit ${on}: ${why_not ?? "no reason is known"}`;
}

/** The command of the smallest plan that fits; throws a sentence where none does. */
export async function plannedServer(
  { name, model, gpus, container, address, max_model_len, store }: PlanChoices,
  env: Readonly<Record<string, string | undefined>>,
): Promise<PlannedServer> {
  const found = await planModel({
    ...{ model, gpus, store, port: address.port, servers: ["vllm"] },
    ...(max_model_len === undefined ? {} : { context: max_model_len }),
  }, env);
  const best = found.plans.find(({ fits, servers }) => fits && servers.vllm?.runs === true);
  if (best === undefined) {
    const fewest = found.fewest_cards === null ? "" : `; ${found.fewest_cards} of them would do`;
    const why = found.plans.map(({ why_not, servers }) => why_not ?? servers.vllm?.warnings[0])
      .find((one) => one !== undefined);
    throw new UsageError(
      `Cannot serve ${name} on ${gpus}: ${why ?? found.corrections[0] ?? "no plan fits"}${fewest}`,
    );
  }
  const { command, container: contained, warnings } = best.servers.vllm!;
  const own = container ? contained : command;
  const named = withFlag(own.args, "--served-model-name", name);
  return {
    // All addresses of a container are its own: docker opens the port on this machine's loopback.
    command: { ...own, args: container ? named : withFlag(named, "--host", address.host) },
    warnings: [foreseen(best), ...found.warnings, ...warnings],
  };
}

/** What a plan says of a server's words; null: it says nothing of them. */
export async function foresee(
  { args }: ServerCommand,
  { model, gpus, store }: Pick<PlanChoices, "model" | "gpus" | "store">,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const number = (flag: string) => {
    const text = flagOf(args, flag);
    return text === null ? undefined : Number(text);
  };
  const asked = {
    context: number("--max-model-len"),
    utilization: number("--gpu-memory-utilization"),
    cache_type: flagOf(args, "--kv-cache-dtype") ?? undefined,
    tensor_parallel: number("--tensor-parallel-size"),
  };
  const given = Object.fromEntries(
    Object.entries(asked).filter(([, value]) => value !== undefined),
  );
  try {
    const { plans: [first] } = await planModel({ model, gpus, store, ...given }, env);
    return first === undefined ? null : foreseen(first);
  } catch (error) {
    if (error instanceof UsageError) return null; // the server says itself what it thinks of it
    throw error;
  }
}
