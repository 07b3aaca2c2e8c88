import type { Layout, ServingPlan } from "../../../core/serving/plan/schema.ts";
import { textTable } from "../terminal/table.ts";
import { count, gib, spreadText } from "./plan_tables.ts";

/** One stretch of a card's memory in a plan. */
export interface MemoryRow {
  readonly plan: string;
  readonly part: "weights" | "cache" | "activations" | "graphs" | "libraries" | "free" | "left out";
  readonly bytes: number;
}

const named = (plan: ServingPlan, layout: Layout) =>
  `${layout.cards} × ${plan.cards.name}, ${spreadText(layout)}`;

/** What one card of each plan holds, part by part: the rows of the figure. */
export function memoryRows(plan: ServingPlan): MemoryRow[] {
  return plan.plans.flatMap((layout) => {
    const { memory } = layout;
    const name = named(plan, layout);
    const cache = layout.fits ? layout.cache_used : 0;
    const held = memory.weights + memory.activations + memory.graphs + memory.outside + cache;
    return ([
      ["weights", memory.weights],
      ["cache", cache],
      ["activations", memory.activations],
      ["graphs", memory.graphs],
      ["libraries", memory.outside],
      ["free", Math.max(0, memory.asked - held)],
      ["left out", layout.fits ? memory.total - memory.asked : 0],
    ] as const).map(([part, bytes]) => ({ plan: name, part, bytes }));
  });
}

/** Memory of one card against the context, a column a plan, and by how much it is too much. */
export function contextTable(plan: ServingPlan): string {
  const layouts = plan.plans;
  const contexts = layouts[0]?.by_context.map(({ context }) => context) ?? [];
  return textTable(
    ["context", ...layouts.map((layout) => named(plan, layout))],
    contexts.map((context, row) => [
      count(context),
      ...layouts.map(({ by_context, memory }) => {
        const { used, fits } = by_context[row]!;
        return fits ? gib(used) : `${gib(used)}: ${gib(used - memory.asked)} over`;
      }),
    ]),
  );
}
