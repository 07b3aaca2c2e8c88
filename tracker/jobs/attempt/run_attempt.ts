/**
 * Runs an attempt where its engine has put it, and writes down what came of it:
 *
 *     deno run --allow-all run_attempt.ts FOLDER
 *     deno run --allow-all run_attempt.ts --waits     # for its folder, a line of standard input
 *
 * It ends with its program's exit code, with 75 where another start has the attempt or had it, and
 * with 76 where nothing was asked for in that folder.
 */
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Child, startChild } from "../../../python-backends/child/start_child.ts";
import { lostCards, lostWords, ownCards } from "../../../python-backends/lost_card.ts";
import { isAlive, thisProcess } from "../../../python-backends/process_owner.ts";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import {
  attemptPaths,
  readAsked,
  readRequest,
  type Request,
  type Written,
} from "./attempt_folder.ts";
import { type Lease, renewLease, takeLease } from "./lease.ts";
import { readTold, WAITS } from "./told.ts";
import { endBeyond, endRemains, MARKER } from "./remains.ts";

/** How long a program may take to end in good order, by why it is asked to. */
const GRACE_MS = { save: 110_000, timeout: 110_000, cancel: 10_000 };
type Why = keyof typeof GRACE_MS;

const HOW = { save: "saved", timeout: "timeout", cancel: "cancelled" } as const;

/** The exit code of a second start in a folder that another process works for. */
const TAKEN = 75;

const LOOK_MS = 500;

/** Minutes in which a full disk may have room again; the lease is held meanwhile. */
const ROOM_TRIES = 600;

/** Asks a program to end: once, as Ctrl-C does; and kills it where it does not. */
function ending(child: Child): { ask(why: Why): void; readonly why: Why | null } {
  let why: Why | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    get why() {
      return why;
    },
    ask(next) {
      if (why === "cancel" || why === next || (why !== null && next !== "cancel")) return;
      if (why === null) child.signal("SIGINT"); // a second one would end it at once, in the midst of a record
      child.signal("SIGCONT"); // one that somebody stopped would hear nothing, and be killed with its work unsaved
      why = next;
      clearTimeout(timer);
      timer = setTimeout(() => child.kill(), GRACE_MS[why]);
      timer.unref();
    },
  };
}

/** Runs the program to its end and to that of all that it started. */
async function run(folder: string, request: Request, lease: Lease): Promise<Written> {
  const { id, attempt, argv, cwd, seconds, holder } = request;
  const began = performance.now();
  const { token } = lease;
  const result = {
    id,
    attempt,
    token,
    code: null,
    signal: null,
    not_started: null,
    lost_cards: [],
  };
  const took = () => Math.round(performance.now() - began) / 1000;
  if (readAsked(folder) === "cancel") return { ...result, how: "cancelled", seconds: took() };
  const lost_before = await lostCards(ownCards());
  if (lost_before.length > 0) {
    const not_started = lostWords(lost_before);
    return { ...result, how: "done", not_started, lost_cards: lost_before, seconds: took() };
  }
  const child = startChild({
    argv,
    cwd,
    env: { [MARKER]: token, PYTHONUNBUFFERED: "1" },
    log: attemptPaths(folder).log,
    append: true,
    output: "log",
  });
  const end = ending(child);
  const look = () => {
    const asked = readAsked(folder);
    if (asked !== null) end.ask(asked);
    if (holder !== undefined && !isAlive(holder)) end.ask("cancel");
    if (seconds !== null && took() >= seconds) end.ask("timeout");
  };
  // From an engine that takes its machine back; where somebody asked before, that is what is meant.
  const heed = () => {
    look();
    end.ask("save");
  };
  for (const signal of ["SIGUSR1", "SIGTERM", "SIGINT", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, heed);
  }
  const timer = setInterval(look, LOOK_MS);
  look();
  const { code, signal, not_started = null } = await child.exited;
  clearInterval(timer);
  await endRemains(token);
  await endBeyond(request.after);
  const how = end.why === null ? "done" : HOW[end.why];
  const lost_cards = how === "done" && code !== 0 ? await lostCards(ownCards()) : [];
  return { ...result, code, signal, not_started, how, lost_cards, seconds: took() };
}

/** Waits where the disk is full: without a result all would be done again. */
async function finish(folder: string, result: Written): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      return writeWhole(attemptPaths(folder).result, result);
    } catch (error) {
      if (tries === ROOM_TRIES) throw error;
      await delay(1000);
    }
  }
}

/** The folder that it was started for, or waits for; null: nobody tells it one any more. */
async function folderToRun(): Promise<string | null> {
  const [word = ""] = Deno.args;
  if (word !== WAITS) return resolve(word);
  // What is done first is slow: it is done once while nobody waits for it.
  thisProcess();
  await startChild({ argv: ["true"], log: "/dev/null", append: true, output: "log" }).exited;
  const told = await readTold();
  for (const [name, value] of Object.entries(told?.env ?? {})) Deno.env.set(name, value);
  return told?.folder ?? null;
}

const folder = await folderToRun();
if (folder === null) Deno.exit(0);
const request = readRequest(folder);
if (request === null) {
  console.error(`pare: Cannot run an attempt in ${folder}: no attempt.json can be read there`);
  Deno.exit(76);
}
const lease = takeLease(folder);
if (lease === null) {
  console.error(`pare: Cannot begin in ${folder} as another start has its lease`);
  Deno.exit(TAKEN);
}
const renewal = renewLease(folder);
const result = await run(folder, request, lease);
await finish(folder, result);
renewal[Symbol.dispose]();
Deno.exit(result.code ?? 1);
