import { jobNamed, UsageError } from "../../../core/mod.ts";
import { attemptPaths, readLog } from "../../jobs/attempt/attempt_folder.ts";
import {
  type Checklist,
  type ChecklistLine,
  readChecklist,
} from "../../store/queue/checklist_file.ts";
import { attemptFolder } from "../../store/queue/queue_paths.ts";
import { queueRows } from "../../jobs/queue/queue_rows.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { queuePage } from "../../show/queue/queue_page.ts";
import { textTable } from "../../show/terminal/table.ts";
import { duration } from "../../show/view/number_text.ts";
import { queuePlace } from "./queue_place.ts";
import { notDriven } from "./work.ts";

interface LookOptions {
  store?: string;
  json?: boolean;
}

/** `pare queue list`. */
export function listCommand({ store, json = false }: LookOptions): void {
  const { disk, paths } = queuePlace(store);
  const rows = queueRows(disk.current(), paths, Date.now());
  if (json) return console.log(jsonText("queue", rows));
  console.log(queuePage(rows, Date.now()).trimEnd());
  const nobody = rows.some(({ section }) => section !== "ended") ? notDriven(paths) : null;
  if (nobody !== null) console.log(`\n${nobody}`);
}

const MARK = (ok: boolean | null): string => ok === null ? "·" : ok ? "✓" : "✗";

function checklistText({ before = [], after = [] }: Checklist): string {
  const lines = (all: readonly ChecklistLine[], when: string) =>
    all.map(({ check, ok, said }) => [when, check, MARK(ok), said]);
  return textTable(["when", "check", "", "found"], [
    ...lines(before, "before"),
    ...lines(after, "after"),
  ]);
}

/** `pare queue show`. */
export function showJobCommand(job_id: string, { store, json = false }: LookOptions): void {
  const { disk, paths } = queuePlace(store);
  const queue = disk.current();
  const job = jobNamed(queue, job_id);
  const row = queueRows(queue, paths, Date.now()).find((one) => one.job_id === job_id)!;
  const checklists = job.attempts.map(({ number }) =>
    readChecklist(attemptFolder(paths, job_id, number))
  );
  if (json) {
    const attempts = job.attempts.map((one, at) => ({ ...one, checklist: checklists[at]! }));
    return console.log(jsonText("job", { ...row, attempts }));
  }
  console.log(`${job_id}: ${row.title}\n${row.state}, ${row.priority}: ${row.reason}`);
  console.log(`study ${row.study_id} in ${row.store}`);
  for (const { text, verdict } of row.criteria) {
    console.log(`success: ${text}: ${verdict?.replace("_", " ") ?? "not judged yet"}`);
  }
  const attempts = job.attempts.map((one) => [
    ...[String(one.number), one.engine, one.machine, one.how ?? "under way"],
    ...[one.seconds === null ? "" : duration(one.seconds), one.reason],
  ]);
  if (attempts.length === 0) return;
  console.log(
    `\n${textTable(["attempt", "engine", "machine", "how", "took", "reason"], attempts)}`,
  );
  const last = checklists.at(-1)!;
  if (last.before !== undefined) console.log(`\n${checklistText(last)}`);
}

/** `pare queue log`. */
export function jobLogCommand(
  job_id: string,
  { store, attempt }: { store?: string; attempt?: string },
): void {
  const { disk, paths } = queuePlace(store);
  const { attempts } = jobNamed(disk.current(), job_id);
  const number = attempt === undefined ? attempts.length : Number(attempt);
  if (attempts[number - 1] === undefined) {
    throw new UsageError(
      attempts.length === 0
        ? `Cannot show a log of ${job_id}: it has not begun`
        : `Cannot show attempt ${attempt} of ${job_id}: it has had ${attempts.length}`,
    );
  }
  const folder = attemptFolder(paths, job_id, number);
  for (let from = 0, more = true; more;) {
    const piece = readLog(folder, from);
    Deno.stdout.writeSync(piece.bytes);
    [from, more] = [piece.next, piece.more];
  }
  console.error(`(${attemptPaths(folder).log})`);
}
