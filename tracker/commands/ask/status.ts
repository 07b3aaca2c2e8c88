import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { replayStudy } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { named as writing } from "../../../python-backends/file_lock.ts";
import { holdersOf } from "../../ground/storage/file_holders.ts";
import { runFolders } from "../../store/shelf/shelf.ts";
import type { RunOwner } from "../../store/shelf/writers.ts";
import { runFolder } from "../../store/store_paths.ts";
import type { SinkStatus } from "../../store/index/sink_schedule.ts";
import { openStore, type Store, type StudySummary } from "../../store/store.ts";
import { endedBy } from "../../show/view/ended_by.ts";
import { bytes } from "../../show/view/number_text.ts";
import { limitsText } from "../../show/view/limits_text.ts";
import { jsonText } from "../../show/json/print_json.ts";

interface Process {
  pid: number;
  command: string;
}

function named({ pid, command }: Process): string {
  return command === "" ? `process ${pid}` : `process ${pid} (${command})`;
}

function indexLine(status: SinkStatus): string {
  if (status.held_by !== null) return `cannot be read while ${named(status.held_by)} has it open`;
  if (status.error !== null) {
    return `damaged (${status.error}); it is made anew when it is next asked or written`;
  }
  if (status.caught_up) return "has everything that is recorded";
  const behind = status.journal_bytes - status.database_bytes;
  return `${bytes(behind)} of the journal behind`;
}

/** Files that were put aside in the store: each is kept until somebody removes it. */
async function keptAside({ paths }: Store): Promise<string[]> {
  const aside = /\.((?:damaged|replaced|rescued)-\d+|backup-v\d+(?:-\d+)?|torn-\d+)$/;
  const folders = ["", ...runFolders(paths).map((study_id) => runFolder(study_id))];
  const names = await Promise.all(folders.map(async (folder) => {
    const found = await readdir(join(paths.root, folder));
    return found.filter((name) => aside.test(name)).map((name) => join(folder, name));
  }));
  return names.flat().sort();
}

/** A study with how it stands and the limits that are in force. */
async function studyLine(store: Store, { study_id, kind, stop }: StudySummary): Promise<string> {
  const study = replayStudy(await store.journalOf(study_id), study_id);
  const limits = study === null ? null : limitsText(study.opened.request);
  const stands = stop === null ? "running or interrupted" : `ended by ${endedBy(stop)}`;
  return `${study_id} (${kind}), ${stands}; limits: ${limits ?? "none"}`;
}

/** Who writes which study, a line each. */
function runningLines(writers: readonly RunOwner[]): [string, string][] {
  if (writers.length === 0) return [["written now", "no study"]];
  return writers.map((
    one,
  ) => ["written now", `${one.study_id ?? "the store"}, by ${writing(one)}`]);
}

/** `pare status`: how far the index is, who has it open, who writes the store, and the latest study. */
export async function statusCommand(
  options: { store?: string; json?: boolean },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const { paths } = store;
  const status = await store.status();
  const writers = status.writers.map(({ pid }) => pid);
  const open = holdersOf(paths.database).filter(({ pid }) => !writers.includes(pid));
  const lines = [
    ["store", paths.root],
    ["journal", bytes(status.journal_bytes)],
    ["index", indexLine(status)],
    ...runningLines(status.writers),
    ["index open in", open.length === 0 ? "no other process" : open.map(named).join(", ")],
  ];
  // Asking a damaged index would put it aside: to look changes nothing.
  const readable = status.held_by === null && status.error === null;
  const latest = readable ? (await store.studies()).at(-1) : undefined;
  if (latest !== undefined) lines.push(["latest study", await studyLine(store, latest)]);
  if (options.json) {
    return console.log(jsonText("status", {
      store: paths.root,
      journal_bytes: status.journal_bytes,
      index: indexLine(status),
      writers: status.writers.map((one) => ({ study_id: one.study_id, process: writing(one) })),
      open_in: open.map(named),
      latest_study: latest?.study_id ?? null,
      latest_kind: latest?.kind ?? null,
      kept_aside: await keptAside(store),
    }));
  }
  for (const name of await keptAside(store)) lines.push(["kept aside", name]);
  for (const [what, text] of lines) console.log(`${what!.padEnd(17)} ${text}`);
}
