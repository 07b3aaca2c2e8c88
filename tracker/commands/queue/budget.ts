import { budgetRows, type JobEvent, openQueue, UsageError } from "../../../core/mod.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { textTable } from "../../show/terminal/table.ts";
import { queuePlace } from "./queue_place.ts";

interface BudgetOptions {
  store?: string;
  json?: boolean;
  hours?: string;
  reserve?: string;
  machine?: string;
  study?: string;
}

function hoursOf(text: string, option: string): number {
  const hours = Number(text);
  if (text.trim() !== "" && Number.isFinite(hours) && hours >= 0) return hours;
  throw new UsageError(
    `Cannot take ${option} as hours: it is "${text}"; write a number such as 40`,
  );
}

function asked({ hours, reserve = "0", machine, study }: BudgetOptions): JobEvent[] {
  if (hours === undefined) return [];
  const limit = hours === "none" ? null : hoursOf(hours, "--hours");
  const reserve_hours = hoursOf(reserve, "--reserve");
  return [{
    type: "budget_set",
    at: new Date().toISOString(),
    ...{ machine: machine ?? null, study: study ?? null, hours: limit, reserve_hours },
  }];
}

const h = (hours: number): string => `${hours.toFixed(1)} h`;

/** `pare queue budget`. */
export async function budgetCommand(options: BudgetOptions): Promise<void> {
  const { disk } = queuePlace(options.store);
  const events = asked(options);
  const queue = events.length === 0 ? disk.current() : await disk.transact((queue) => [
    ...openQueue(queue, crypto.randomUUID().slice(0, 8), new Date().toISOString()),
    ...events,
  ]);
  const rows = budgetRows(queue, Date.now());
  if (options.json === true) return console.log(jsonText("budget", rows));
  if (rows.length === 0) {
    return console.log("No compute budget is set: `pare queue budget --hours 40`");
  }
  const priced = rows.some(({ price }) => price !== null);
  const head = [
    ...["of", "available", "spent", "under way", "waiting", "reserve", "left"],
    ...priced ? ["cost"] : [],
  ];
  console.log(textTable(
    head,
    rows.map((row) => [
      [row.machine ?? "all machines", ...row.study === null ? [] : [row.study]].join(", "),
      ...[row.hours, row.spent, row.under_way, row.waiting, row.reserve_hours, row.left].map(h),
      ...priced ? [row.price?.toFixed(2) ?? ""] : [],
    ]),
  ));
}
