/** The queue as Markdown, which is plain enough for a terminal. */
import { type Job, PRIORITIES, type Queue } from "../../../core/mod.ts";
import type { QueueRow } from "../../jobs/queue/queue_rows.ts";
import { duration } from "../view/number_text.ts";

function seconds(from: number, to: string): number {
  return Math.max(0, (Date.parse(to) - from) / 1000);
}

/** How long a job takes, and how that is known. */
const TAKES: Readonly<Record<QueueRow["estimate_source"], (time: string) => string>> = {
  measured: (time) => `about ${time}, as earlier ones took`,
  said: (time) => `about ${time}, as was said`,
  budget: (time) => `at most ${time}, its budget`,
  usual: (time) => `perhaps ${time}, a rule of thumb`,
};

/** When a job ends, as far as anybody can say. */
function eta(row: QueueRow, now: number): string {
  if (row.ends_at === null) return "";
  const between = row.ends_between?.map((end) => duration(seconds(now, end))).join(" to ");
  const about = row.estimate_source === "usual" && row.progress === null ? "perhaps" : "about";
  return `, ends in ${about} ${duration(seconds(now, row.ends_at))}${
    between === undefined ? "" : ` (${between})`
  }`;
}

function price({ price }: QueueRow): string[] {
  return price === null ? [] : [`cost ${price.toFixed(2)}`];
}

function running(row: QueueRow, now: number): string {
  const share = row.progress === null ? "" : `${Math.round(100 * row.progress)} %`;
  const how = row.state === "running" ? share : `${row.state}: ${row.reason}`;
  const said = [how, row.progress_said ?? "", ...price(row)].filter((text) => text !== "").join(
    ", ",
  );
  return `- [ ] ${row.job_id}: ${row.title} (${row.priority}${said === "" ? "" : `, ${said}`}${
    eta(row, now)
  }) [${row.engine}]`;
}

function queued(row: QueueRow, at: number): string {
  const takes = TAKES[row.estimate_source](duration(row.estimate_seconds));
  return `${at}. ${row.job_id}: ${row.title} (${takes}; ${row.reason})`;
}

const MARKS: Readonly<Record<string, string>> = { done: "x", failed: "!", cancelled: "-" };

function ended(row: QueueRow): string {
  const judged = row.criteria.map(({ text, verdict }) =>
    `${text}: ${verdict?.replace("_", " ") ?? "not judged yet"}`
  );
  const more = [row.reason, ...judged, ...price(row)].join("; ");
  return `- [${MARKS[row.state] ?? " "}] ${row.job_id}: ${row.title} (${row.state}: ${more})`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`### ${title}`, ...lines, ""];
}

/** Ended jobs that a list shows. */
const ENDED_SHOWN = 10;

/** The queue in the requirement's sections: running, queued by priority, blocked; then what ended last. */
export function queuePage(rows: readonly QueueRow[], now: number): string {
  const of = (name: QueueRow["section"]) => rows.filter((row) => row.section === name);
  const waiting = of("queued");
  const lines = [
    ...section("Running", of("running").map((row) => running(row, now))),
    ...PRIORITIES.flatMap((priority) =>
      section(
        `Queued (${priority})`,
        waiting.filter((row) => row.priority === priority).map((row) =>
          queued(row, waiting.indexOf(row) + 1)
        ),
      )
    ),
    ...section(
      "Blocked",
      of("blocked").map((row) => `- ${row.job_id}: ${row.title} (${row.priority}; ${row.reason})`),
    ),
    ...section("Ended", of("ended").slice(0, ENDED_SHOWN).map(ended)),
  ];
  return lines.length === 0 ? "The queue is empty.\n" : `${lines.join("\n").trimEnd()}\n`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
}

function attemptsOf(job: Job): string[] {
  const at = (time: number | null) =>
    time === null ? "" : new Date(time).toISOString().slice(0, 19).replace("T", " ");
  return job.attempts.map((one) =>
    `| ${
      [
        ...[job.job_id, cell(job.asked.title), String(one.number), one.engine, one.machine],
        ...[at(one.began), at(one.ended), one.how ?? "under way", cell(one.reason)],
      ].join(" | ")
    } |`
  );
}

/** Every attempt that was made, the newest job last. */
export function executionPage(queue: Queue): string {
  const head = [
    "job",
    "title",
    "attempt",
    "engine",
    "machine",
    "began (UTC)",
    "ended (UTC)",
    "how",
    "reason",
  ];
  return [
    "# Execution",
    "",
    `| ${head.join(" | ")} |`,
    `| ${head.map(() => "---").join(" | ")} |`,
    ...[...queue.jobs.values()].flatMap(attemptsOf),
    "",
  ].join("\n");
}
