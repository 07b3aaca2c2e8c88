/** An attempt's small files: a living holder is never given up, and no word is made up. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { JobEvent } from "../../../core/mod.ts";
import { lockOwner, tryLock } from "../../../python-backends/file_lock.ts";
import { thisProcess } from "../../../python-backends/process_owner.ts";
import {
  attemptPaths,
  readAsked,
  readRequest,
} from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { endOf, seenAttempt } from "../../../tracker/jobs/attempt/attempt_state.ts";
import { closeAttempt, takeLease, watchLeases } from "../../../tracker/jobs/attempt/lease.ts";
import { MARKER } from "../../../tracker/jobs/attempt/remains.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { queueFiles } from "../../../tracker/jobs/queue/queue_files.ts";
import { readChecklist } from "../../../tracker/store/queue/checklist_file.ts";
import { attemptFolder, ownPaths, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";
import { sometimes } from "../loop.ts";
import type { Mutation } from "./mutations.ts";
import type { Target } from "./target.ts";

/** Processes that a walk ends with. */
export type Started = Deno.ChildProcess[];

const KEY = { job_id: "EXP-001", attempt: 1 };

/** What a driver would write of a result: its own schema says whether it can. */
function requireSayable({ how, code, reason, seconds }: {
  how: string;
  code: number | null;
  reason: string;
  seconds: number;
}): void {
  const end = {
    ...{
      type: "attempt_ended",
      at: "2026-03-01T12:00:00.000Z",
      ...KEY,
      how,
      code,
      reason,
      seconds,
    },
    ...{ left_behind: false, next: "again", not_before: null },
  };
  const read = JobEvent.safeParse(end);
  assert.ok(read.success, `a driver cannot write down ${JSON.stringify({ how, code, seconds })}`);
}

/** Numbers and names of processes have no one length: places must be the same in every run of a seed. */
const padded = (text: string) => new TextEncoder().encode(text.padEnd(640));

const bytesOf = (value: unknown) => new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`);

function small(
  file: string,
  bytes: Uint8Array,
  check: (mutation: Mutation) => void | Promise<void>,
): Target {
  return {
    file: `queue/jobs/EXP-001/attempt-1/${file}`,
    bytes,
    lines: false,
    kind: "survivable",
    check,
  };
}

/** A lease that this process holds, and one of a process that is gone and whose number lives again. */
function leaseTargets(folder: string, started: Started): Target[] {
  const { lease: path } = attemptPaths(folder);
  const lease = takeLease(folder);
  assert.ok(lease !== null);
  // What an attempt started is found by its token where its lease names no process any more.
  started.push(new Deno.Command("sleep", { args: ["1d"], env: { [MARKER]: lease.token } }).spawn());
  const text = Deno.readTextFileSync(path);
  const start = /"start":"(\d+)"/.exec(text)![1]!;
  const [token] = /"token":"[^"]+"/.exec(text)!;
  const gone = text.replace(`"${start}"`, `"1${start.slice(1)}7"`)
    .replace(token, '"token":"nobody-has-this"');
  const put = ({ bytes }: Mutation) => Deno.writeFileSync(path, bytes);
  return [
    small("lease", padded(text), (mutation) => {
      put(mutation);
      assert.equal(watchLeases()(folder), "fresh", "a living holder was given up");
      assert.equal(closeAttempt(folder), false, "an attempt that runs was closed");
    }),
    small("lease of the dead", padded(gone), (mutation) => {
      put(mutation);
      const seen = watchLeases()(folder);
      // Another machine's, as far as the damaged words go, is given a minute.
      const [machine] = /"machine":"[^"]*"/.exec(gone)!;
      const here = new TextDecoder().decode(mutation.bytes).includes(machine);
      if (!here || mutation.how === "cut" || mutation.how === "zeros") return;
      if (seen === "stale") sometimes("a lease of a number that lives again is stale");
      const whole = isJson(mutation.bytes);
      assert.ok(seen === "stale" || !whole, "a process that is gone holds its attempt");
    }),
  ];
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder().decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** What this machine's engine notes of an attempt: its capacity is told whatever stands there. */
function booksTarget(root: string): Target {
  const books = join(root, "books");
  const slots = { cpu: 4, gpu: 0, memory_gb: null };
  const engine = new LocalEngine(books, { slots, cards: [], machine: "test" });
  const entry = {
    ...{ folder: join(root, "begun"), slots: { ...slots, cpu: 2 }, cards: [], threads: ["0", "1"] },
    ...{ started_by: thisProcess(), started: 1 },
  };
  return {
    ...small("books", padded(JSON.stringify(entry)), async ({ bytes }) => {
      Deno.writeFileSync(join(books, "begun-1.json"), bytes);
      const { free: { cpu } } = await engine.capacity();
      assert.ok(Number.isFinite(cpu), `${cpu} threads are free`);
      await engine.find("begun", 1);
    }),
    most: 600, // each looks at all processes
  };
}

/** The files by which an attempt tells how it stands. */
export function attemptTargets(root: string, started: Started): Target[] {
  const paths = queuePaths(join(root, "attempts"));
  const folder = attemptFolder(paths, KEY.job_id, KEY.attempt);
  Deno.mkdirSync(folder, { recursive: true });
  const at = attemptPaths(folder);
  const files = queueFiles(paths, () => [], []);
  const written = {
    ...{ id: "1f2e3d4c-EXP-001", attempt: 1, token: crypto.randomUUID(), how: "done", code: 1 },
    ...{ signal: null, not_started: null, seconds: 12.5 },
  };
  const result = small("result.json", bytesOf(written), async ({ bytes }) => {
    Deno.writeFileSync(at.result, bytes);
    endOf(folder);
    const [seen] = await files.look([KEY]);
    if (seen!.result !== null) requireSayable(seen!.result);
    Deno.removeSync(at.result);
  });
  const progress = { share: 0.25, said: "trial 2 of 5 (t02), at most 6 min left" };
  const request = { id: written.id, attempt: 1, argv: ["deno", "run"], seconds: null, cwd: folder };
  const owner = thisProcess();
  return [
    ...leaseTargets(folder, started),
    booksTarget(root),
    result,
    small("progress.json", bytesOf(progress), async ({ bytes }) => {
      Deno.writeFileSync(ownPaths(folder).progress, bytes);
      const share: unknown = (await files.look([KEY]))[0]!.progress;
      const known = share === null || typeof share === "number" && share >= 0 && share <= 1;
      assert.ok(known, `progress is ${JSON.stringify(share)}`);
      Deno.removeSync(ownPaths(folder).progress);
    }),
    small("attempt.json", bytesOf(request), ({ bytes }) => {
      Deno.writeFileSync(at.request, bytes);
      const read = readRequest(folder);
      if (read !== null) assert.ok(Array.isArray(read.argv), "argv is no list");
      seenAttempt(folder, watchLeases());
    }),
    small("asked", new TextEncoder().encode("cancel"), ({ bytes }) => {
      Deno.writeFileSync(at.asked, bytes);
      assert.ok(["cancel", "save", null].includes(readAsked(folder)));
    }),
    small(
      "checklist.json",
      bytesOf({ before: [{ check: "disk", ok: true, said: "42 GB" }] }),
      (one) => {
        Deno.writeFileSync(ownPaths(folder).checklist, one.bytes);
        const { before = [] } = readChecklist(folder);
        assert.ok(Array.isArray(before) && before.every(({ check }) => typeof check === "string"));
      },
    ),
    small("lock", padded(JSON.stringify(owner)), ({ bytes }) => {
      const path = join(root, "lock");
      Deno.writeFileSync(path, bytes);
      lockOwner(path);
      const lock = tryLock(path);
      assert.ok(lock !== null, "a lock that nobody holds cannot be taken");
      assert.equal(lockOwner(path)?.pid, Deno.pid, "its owner is not named");
      lock.release();
    }),
  ];
}
