/** The recipes of the benchmark: every cut alone, after LoRA, and after distillation. */
import type { ActionInput } from "../../../core/mod.ts";

/** What a recipe does after its cut. */
export type Recovery = "none" | "lora" | "distill";

export interface Recipe {
  readonly cut: string;
  readonly recovery: Recovery;
  /** Rounded after all of it, in words; null: it is not. */
  readonly rounding: string | null;
  readonly actions: readonly ActionInput[];
}

/** Steps of each recovery: as many as take equal minutes. */
export type Steps = Readonly<Record<Exclude<Recovery, "none">, number>>;

const pruning = (method: string, params: ActionInput["params"]): ActionInput => (
  { agent: "pruning", method, params }
);

/** Cuts that are measured alone; `recovered` ones after both recoveries too. */
const CUTS: readonly { cut: string; action: ActionInput; recovered: boolean }[] = [
  ...(["magnitude", "wanda", "sparsegpt"] as const).flatMap((method) => [
    {
      cut: `2:4, ${method}`,
      action: pruning(method, { sparsity: 0.5, pattern: "2:4" }),
      recovered: method === "sparsegpt",
    },
    {
      cut: `50 % unstructured, ${method}`,
      action: pruning(method, { sparsity: 0.5 }),
      recovered: method === "sparsegpt",
    },
  ]),
  ...[0.1, 0.2, 0.3].map((mlp_ratio) => ({
    cut: `${100 * mlp_ratio} % of MLP channels`,
    action: pruning("channels", { mlp_ratio, importance: "taylor" }),
    recovered: true,
  })),
  ...[2, 4].map((blocks) => ({
    cut: `${blocks} blocks`,
    action: pruning("depth", { blocks }),
    recovered: true,
  })),
];

/** The same rounding that is measured alone follows the chains: only what is before it differs. */
const ROUNDED: readonly { rounding: string; action: ActionInput }[] = [
  {
    rounding: "int8",
    // 64 features a scale where they divide the rows, as of the original; fewer of cut channels.
    action: { agent: "quantization", method: "int8", params: { activation_group_size: "auto" } },
  },
  {
    rounding: "gptq 4-bit",
    action: { agent: "quantization", method: "gptq", params: { bits: 4, group_size: 32 } },
  },
];
const ROUNDED_CUTS = ["10 % of MLP channels", "2 blocks"];

function recovering(recovery: Recovery, steps: Steps): ActionInput[] {
  if (recovery === "none") return [];
  const agent = recovery === "lora" ? "finetuning" : "distillation";
  return [{ agent, method: recovery, params: { steps: steps[recovery] } }];
}

/** The original trained alike: what training does where nothing is to be won back. */
export function uncut(steps: Steps): Recipe[] {
  return (["lora", "distill"] as const).map((recovery) => (
    { cut: "nothing", recovery, rounding: null, actions: recovering(recovery, steps) }
  ));
}

/** Every recipe; a chain's prefix is made once, as it is another recipe's whole. */
export function recipes(steps: Steps): Recipe[] {
  const plain = CUTS.flatMap(({ cut, action, recovered }) =>
    (recovered ? ["none", "lora", "distill"] as const : ["none"] as const).map((recovery) => ({
      cut,
      recovery,
      rounding: null,
      actions: [action, ...recovering(recovery, steps)],
    }))
  );
  const rounded = ROUNDED.flatMap(({ rounding, action }) => [
    { cut: "nothing", recovery: "none" as const, rounding, actions: [action] },
    ...plain.filter(({ cut, recovery }) => ROUNDED_CUTS.includes(cut) && recovery === "distill")
      .map((before) => ({ ...before, rounding, actions: [...before.actions, action] })),
  ]);
  return [...plain, ...rounded];
}

/** Two recipes whose training is timed, a few steps of each. */
export function probes(steps: number): Recipe[] {
  const both = { lora: steps, distill: steps };
  return recipes(both).filter(({ cut, recovery, rounding }) =>
    cut === "20 % of MLP channels" && recovery !== "none" && rounding === null
  );
}
