import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Engine, EngineError, type Turn, UsageError } from "../../../core/mod.ts";
import { lockOwner } from "../../../python-backends/file_lock.ts";
import { findHome } from "../../ground/home.ts";
import { readEngines } from "../../jobs/engines/engines_file.ts";
import { type EngineFolders, openEngine } from "../../jobs/engines/open_engine.ts";
import { checkDriver, type DriveOptions, driveQueue } from "../../jobs/queue/drive_queue.ts";
import type { QueuePaths } from "../../store/queue/queue_paths.ts";
import { notify } from "../../jobs/queue/notify.ts";
import { type QueueRow, queueRows } from "../../jobs/queue/queue_rows.ts";
import { executionPage, queuePage } from "../../show/queue/queue_page.ts";
import { interruptible } from "../output/interruptible.ts";
import { queuePlace } from "./queue_place.ts";

const PROGRAM = fileURLToPath(new URL("../study/queued_study.ts", import.meta.url));

/** The words that run a queued study. */
export const programOf: DriveOptions["programOf"] = (folder) => [
  ...[Deno.execPath(), "run", "--quiet", "--allow-all", "--no-check", PROGRAM, folder],
];

/** That nothing in line will run before somebody drives the queue; null: somebody does. */
export function notDriven({ driver }: QueuePaths): string | null {
  return lockOwner(driver) === null
    ? "Nobody runs what is in line: `pare queue work` or `pare board` does"
    : null;
}

/** Looks at an engine before anything is submitted; what cannot be there is refused, or told and left out. */
async function looked(name: string, folders: EngineFolders, named: boolean): Promise<Engine[]> {
  try {
    const engine = await openEngine(name, folders);
    const unseen = await engine.check?.(folders.books) ?? null;
    if (unseen !== null) console.error(`note: ${unseen}`);
    return [engine];
  } catch (error) {
    const refused = error instanceof EngineError || error instanceof UsageError;
    if (!refused) throw error;
    if (named) throw new UsageError(error.message);
    console.error(`note: engine ${name} is left out: ${error.message}`);
    return [];
  }
}

/** The engines that are named, or the local one and those of a user's file. */
export async function enginesFor(
  { root, books }: QueuePaths,
  names?: readonly string[],
  file = join(findHome(Deno.env.toObject()).root, "engines.yaml"),
): Promise<Engine[]> {
  const all = new Set(names ?? ["local", ...readEngines(file).keys()]);
  mkdirSync(root, { recursive: true });
  const found = [...all].map((name) => looked(name, { file, books }, names !== undefined));
  return (await Promise.all(found)).flat();
}

/** States that somebody who does not look at the terminal wants to hear of. */
const NOTABLE: ReadonlySet<string> = new Set(["done", "failed", "cancelled"]);

/**
 * Says what changed of each job since it was told last, and once what an engine did not do; `notable`
 * hears what has ended or is blocked.
 */
function teller(
  paths: QueuePaths,
  say: (line: string) => void,
  notable: (row: QueueRow) => Promise<void>,
) {
  const told = new Map<string, string>();
  return async ({ queue, undone }: Turn) => {
    for (const one of undone) if (told.get(one) === undefined) say(`note: ${one}`);
    for (const one of undone) told.set(one, "");
    for (const row of queueRows(queue, paths, Date.now())) {
      const now = `${row.job_id}: ${row.state} (${row.reason})`;
      const before = told.get(row.job_id);
      told.set(row.job_id, now);
      if (before === now || before === undefined && row.section === "ended") continue;
      say(now);
      if (NOTABLE.has(row.state) || row.section === "blocked") await notable(row);
    }
  };
}

function writePages(paths: QueuePaths, { queue }: Turn): void {
  mkdirSync(paths.root, { recursive: true });
  const now = Date.now();
  const rows = queueRows(queue, paths, now);
  Deno.writeTextFileSync(paths.queue_page, `## Experiment Queue\n\n${queuePage(rows, now)}`);
  Deno.writeTextFileSync(paths.execution_page, executionPage(queue));
}

interface WorkOptions {
  store?: string;
  engine?: string[];
  engines?: string;
  untilIdle?: boolean;
  notify?: string[];
  pages?: boolean;
}

/** `pare queue work`: drives the queue until Ctrl-C. */
export async function workCommand(options: WorkOptions): Promise<void> {
  const { disk, paths } = queuePlace(options.store);
  checkDriver(paths);
  const engines = await enginesFor(paths, options.engine, options.engines);
  const say = (line: string) => console.log(line);
  const { signal } = interruptible(say, () => true, "what runs goes on");
  const { notify: targets = [] } = options;
  const tell = teller(paths, say, (row) => notify(targets, row));
  const onStuck = (job_id: string, evidence: string) => {
    say(`${job_id}: ${evidence}; a restart did not help`);
    const row = queueRows(disk.current(), paths, Date.now()).find((one) => one.job_id === job_id)!;
    void notify(targets, { ...row, reason: evidence });
  };
  say(
    `engines: ${engines.map(({ name }) => name).join(", ")}; Ctrl-C ends this, what runs goes on`,
  );
  await driveQueue({
    ...{ paths, engines, programOf, signal },
    until_idle: options.untilIdle ?? false,
    onStuck,
    onTurn: async (turn) => {
      await tell(turn);
      if (options.pages === true) writePages(paths, turn);
    },
  });
}
