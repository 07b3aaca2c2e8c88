import type { ServingPlan } from "../../../core/serving/plan/schema.ts";
import { textTable } from "../terminal/table.ts";
import {
  cacheLine,
  cacheTable,
  chosenPlan,
  commandText,
  count,
  fewestLine,
  headline,
  howSure,
  layoutsTable,
  type PlanTable,
  spreadText,
  weightsTable,
} from "./plan_tables.ts";

/** Columns that stay longest in a narrow terminal. */
const FIRST = ["cards", "spread", "longest context", "cache", "weights"];

const printed = ({ head, rows }: PlanTable) => textTable(head, rows, { first: FIRST });

function commandsText(plan: ServingPlan, container: boolean): string[] {
  const chosen = chosenPlan(plan);
  if (chosen === undefined) return [];
  const tokens = `${count(chosen.context)} tokens`;
  return [
    `For ${chosen.cards} × ${plan.cards.name}, ${spreadText(chosen)}, ${tokens}:`,
    ...Object.entries(chosen.servers).flatMap(([server, served]) => [
      `\n${server}${served.runs ? "" : " (not on these cards)"}`,
      commandText(served.command).replace(/^/gm, "  "),
      ...(container ? [commandText(served.container).replace(/^/gm, "  ")] : []),
      ...served.warnings.map((one) => `  note: ${one}`),
    ]),
  ];
}

/** A plan as the command line prints it. */
export function planText(
  plan: ServingPlan,
  { container }: { readonly container: boolean },
): string {
  return [
    headline(plan),
    ...plan.corrections.map((one) => `Not so: ${one}`),
    ...plan.refused.map(({ why }) => `Refused: ${why}`),
    "",
    printed(weightsTable(plan)),
    "",
    cacheLine(plan),
    printed(cacheTable(plan)),
    "",
    fewestLine(plan),
    printed(layoutsTable(plan)),
    ...howSure(plan),
    ...plan.warnings.map((one) => `note: ${one}`),
    "",
    ...commandsText(plan, container),
  ].join("\n");
}
