/** What is looked at before a job starts and after it has ended; each line is kept with its result. */
import { foundAt } from "../../ground/storage/found_at.ts";
import { existsSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { execa } from "execa";
import { kindOf, type Slots, UsageError } from "../../../core/mod.ts";
import { fromUser } from "../../../python-backends/home.ts";
import { availableMemory } from "../../../python-backends/memory.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";
import { sha256File } from "../../ground/storage/file_hash.ts";
import { isPath } from "../../artifacts/remote/given.ts";
import { checkStudy } from "../../lab/check_study.ts";
import { openStore } from "../../store/store.ts";
import type { ChecklistLine } from "../../store/queue/checklist_file.ts";
import type { QueuePaths } from "../../store/queue/queue_paths.ts";
import { keepChanges } from "./code_changes.ts";
import { freeBytes, LEAST_BYTES, NEARLY_FULL } from "./disk_room.ts";
import type { AttemptWork } from "./queued_work.ts";

type Found = Omit<ChecklistLine, "check">;

const fine = (said: string): Found => ({ ok: true, said });
const told = (said: string): Found => ({ ok: null, said });
const lacking = (said: string): Found => ({ ok: false, said });

/** Cores that other work may take before a machine is said to be busy. */
const IDLE_CORES = 0.5;

function device({ cpu, gpu }: Slots): Found {
  const [load = 0] = loadavg();
  const asked = gpu > 0 ? `${gpu} ${gpu === 1 ? "card" : "cards"}` : `${cpu} CPU`;
  const busy = `${load.toFixed(1)} processes run or wait here (mean of a minute)`;
  return load > IDLE_CORES ? told(`${asked} asked for; ${busy}`) : fine(`${asked}; idle`);
}

async function commit({ code_commit }: AttemptWork, folder: string): Promise<Found> {
  const git = async (...words: string[]) =>
    await execa("git", ["-C", PROJECT_ROOT, ...words], { reject: false, stdin: "ignore" });
  const head = await git("rev-parse", "HEAD");
  if (head.exitCode !== 0) return told("pare runs from no checkout: there is no commit to name");
  const changed = (await git("status", "--porcelain", "--untracked-files=no")).stdout.trim();
  const now = head.stdout.trim();
  const moved = code_commit === null || code_commit.startsWith(now)
    ? ""
    : `; it was submitted at ${code_commit.slice(0, 12)}`;
  const at = `commit ${now.slice(0, 12)}`;
  if (changed === "") return moved === "" ? fine(`${at}, clean`) : told(`${at}, clean${moved}`);
  const files = changed.split("\n").length;
  const kept = await keepChanges(folder);
  return told(`${at} with changes in ${files} ${files === 1 ? "file" : "files"}, ${kept}${moved}`);
}

function model({ model_name, cwd }: AttemptWork): Found {
  if (!isPath(model_name)) return told(`${model_name} is read as the study begins`);
  return existsSync(resolve(cwd, fromUser(model_name)))
    ? fine(model_name)
    : lacking(`model missing: ${model_name}`);
}

async function data({ dataset, cwd, data_sha256 }: AttemptWork): Promise<Found> {
  const path = resolve(cwd, dataset);
  const there = foundAt(path)?.isFile() === true;
  if (!there) {
    return isPath(dataset) || data_sha256 !== null
      ? lacking(`data missing: ${dataset}`)
      : told(`${dataset} is read as the study begins`);
  }
  if (data_sha256 === null) return fine(dataset);
  return await sha256File(path) === data_sha256
    ? fine(`${dataset}, sha256 ${data_sha256.slice(0, 12)} as submitted`)
    : lacking(`data changed: ${dataset} is not the file that was submitted`);
}

function knobs({ document }: AttemptWork): Found {
  try {
    const request = checkStudy(JSON.parse(readFileSync(document, "utf8")), "study");
    return fine(`the document is one of kind ${kindOf(request).name}`);
  } catch (error) {
    if (error instanceof UsageError) return lacking(error.message);
    return lacking(`document missing: ${document}`);
  }
}

function disk({ store }: AttemptWork): Found {
  const free = freeBytes(store);
  const said = `${(free / 1e9).toFixed(1)} GB free for ${store}`;
  return free >= LEAST_BYTES ? fine(said) : lacking(`${NEARLY_FULL}: ${said}`);
}

function memory({ memory_gb }: Slots): Found {
  const available = availableMemory();
  const said = `${(available / 1e9).toFixed(1)} GB available`;
  if (memory_gb === null) return told(`${said}; nobody said what it needs`);
  return available >= memory_gb * 1e9
    ? fine(`${said} of ${memory_gb} GB asked for`)
    : told(`${said} here, and ${memory_gb} GB are asked for`);
}

function output({ root }: QueuePaths): Found {
  try {
    Deno.mkdirSync(root, { recursive: true });
    Deno.removeSync(Deno.makeTempFileSync({ dir: root, prefix: ".writable-" }));
    return fine(root);
  } catch (error) {
    return lacking(`output not writable: ${root} (${error instanceof Error ? error.name : error})`);
  }
}

/** What is looked at before a job starts in its attempt's folder. */
export async function beforehand(
  folder: string,
  work: AttemptWork,
  paths: QueuePaths,
  slots: Slots,
): Promise<ChecklistLine[]> {
  return [
    { check: "device", ...device(slots) },
    { check: "commit", ...await commit(work, folder) },
    { check: "model", ...model(work) },
    { check: "data", ...await data(work) },
    { check: "knobs", ...knobs(work) },
    { check: "disk", ...disk(work) },
    { check: "memory", ...memory(slots) },
    { check: "output", ...output(paths) },
  ];
}

/** What is looked at after a study has ended; `ok` false is told and takes nothing back. */
export async function afterwards({ store: root, study_id }: AttemptWork): Promise<ChecklistLine[]> {
  await using store = await openStore(root, { write: false });
  const [row] = await store.ask(
    "SELECT s.stop, (SELECT count(*) FROM trials t WHERE t.study_id = s.study_id AND " +
      "t.state = 'completed') AS completed, (SELECT count(*) FROM measurements m WHERE " +
      "m.study_id = s.study_id) AS measurements FROM studies s WHERE s.study_id = $study",
    { params: { study: study_id } },
  );
  const [completed, figures] = [
    Number(row?.["completed"] ?? 0),
    Number(row?.["measurements"] ?? 0),
  ];
  const stop = row?.["stop"] ?? null;
  return [
    {
      check: "results",
      ...stop === null ? lacking("its end is not recorded") : fine(`ended: ${stop}`),
    },
    {
      check: "metrics",
      ...completed > 0 && figures > 0
        ? fine(`${figures} figures of ${completed} completed trials`)
        : lacking("no trial was completed"),
    },
    {
      check: "tables",
      ...figures > 0 ? fine("the index has them") : lacking("the index has none of its figures"),
    },
  ];
}
