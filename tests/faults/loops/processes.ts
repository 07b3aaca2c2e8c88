/** An attempt whose program has children and grandchildren: each of its processes killed or stopped at each moment. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Attempt } from "../../../core/jobs/engine.ts";
import { isAlive } from "../../../python-backends/process_owner.ts";
import { readResult } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { seenAttempt } from "../../../tracker/jobs/attempt/attempt_state.ts";
import { closeAttempt, readLease, watchLeases } from "../../../tracker/jobs/attempt/lease.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { type Program, startScript } from "../../fixtures/programs.ts";
import { type Injected, injecting, type Loop, sometimes, type Walk } from "../loop.ts";
import { killBeforeLease } from "../processes/before_lease.ts";
import {
  FAMILIES,
  type Family,
  type FamilyProgram,
  familyProgram,
  marked,
  until,
} from "../processes/family.ts";

const DEVICES = {
  ...{ slots: { cpu: 1, gpu: 0, memory_gb: null }, cards: [], machine: "made-up" },
};
const DOOR = import.meta.resolve("../../../tracker/jobs/engines/local/local_engine.ts");

type Moment = "before its turn" | "begun" | "children up" | "saving" | "ended";

/** What is there to be hit. */
interface Stage {
  readonly engine: LocalEngine;
  readonly folder: string;
  readonly leader: number;
  readonly wrapper: number;
  /** Who submitted it, where that is a process of its own. */
  readonly core: Program | null;
}

/** What came of it; null: it never began. */
type End = `${"done" | "saved" | "cancelled"} ${string}` | "lost" | null;

interface Act {
  readonly name: string;
  /** Another process submits. */
  readonly core?: true;
  readonly moments: readonly Moment[];
  do(stage: Stage): Promise<unknown> | void;
  end(moment: Moment): End;
  /** A save was asked before, and may be over before the wrapper sees this. */
  readonly late?: true;
}

const RUNNING: readonly Moment[] = ["begun", "children up", "saving"];
const ALL: readonly Moment[] = ["before its turn", ...RUNNING, "ended"];

const kill = (pid: number, signal: Deno.Signal) => Deno.kill(pid, signal);
/** One that has not set its trap yet is ended by the signal that asks it to save. */
const code = (moment: Moment) => moment === "begun" ? "SIGINT" : "3";
/** By a save or cancel of its engine. */
const asked = (how: "saved" | "cancelled") => (moment: Moment): End =>
  moment === "before its turn" ? null : moment === "ended" ? "done 0" : `${how} ${code(moment)}`;
const bySignal = (signal: string) => (moment: Moment): End =>
  `${moment === "saving" ? "saved" : "done"} ${signal}`;

const ACTS: readonly Act[] = [
  {
    name: "the engine cancels",
    late: true,
    moments: ALL,
    do: ({ engine, folder }) => engine.cancel(folder),
    end: asked("cancelled"),
  },
  {
    name: "SIGKILL of the wrapper",
    moments: RUNNING,
    do: ({ wrapper }) => kill(wrapper, "SIGKILL"),
    end: () => "lost",
  },
  {
    name: "SIGKILL of the leader",
    moments: RUNNING,
    do: ({ leader }) => kill(leader, "SIGKILL"),
    end: bySignal("SIGKILL"),
  },
  {
    name: "SIGSTOP of the leader, and the engine cancels",
    moments: RUNNING,
    do({ engine, leader, folder }) {
      kill(leader, "SIGSTOP");
      return engine.cancel(folder);
    },
    end: asked("cancelled"),
  },
  {
    name: "SIGTERM of the leader",
    moments: RUNNING,
    do: ({ leader }) => kill(leader, "SIGTERM"),
    end: bySignal("SIGTERM"),
  },
  {
    name: "SIGTERM of the wrapper",
    moments: RUNNING,
    do: ({ wrapper }) => kill(wrapper, "SIGTERM"),
    end: asked("saved"),
  },
  {
    name: "SIGSTOP of the wrapper, a cancel, and SIGCONT",
    late: true,
    moments: RUNNING,
    async do({ engine, wrapper, folder }) {
      kill(wrapper, "SIGSTOP");
      await engine.cancel(folder);
      assert.equal(seenAttempt(folder, watchLeases()).lease, "fresh", "a stopped wrapper holds");
      kill(wrapper, "SIGCONT");
    },
    end: asked("cancelled"),
  },
  {
    name: "SIGKILL of the core",
    core: true,
    moments: ALL,
    do: ({ core }) => core!.kill(),
    // Where it ran it goes on, and whoever looks next saves it.
    end: (moment) => moment === "before its turn" ? "done 0" : asked("saved")(moment),
  },
  {
    name: "SIGKILL of the core and of the wrapper",
    core: true,
    moments: RUNNING,
    async do({ core, wrapper }) {
      await core!.kill();
      kill(wrapper, "SIGKILL");
    },
    end: () => "lost",
  },
  {
    name: "it is closed by who waits no longer",
    moments: ["before its turn"],
    do: ({ folder }) => void assert.ok(closeAttempt(folder)),
    end: () => null,
  },
];

interface Point {
  readonly act: Act;
  readonly moment: Moment;
  readonly family: Family;
}

/** Those that find most come first; before its turn and before its children come it has no family. */
const POINTS: readonly Point[] = (Object.keys(FAMILIES).toReversed() as Family[]).flatMap(
  (family, n) =>
    (["children up", "saving", "begun", "ended", "before its turn"] as const)
      .filter((moment) => n === 0 || moment === "children up" || moment === "saving")
      .flatMap((moment) =>
        ACTS.filter(({ moments }) => moments.includes(moment)).map((act) => ({
          ...{ act, moment, family },
        }))
      ),
);

/** Who submits, in a process of its own that can be killed. */
function coreOf(root: string, books: string, attempt: Attempt): Promise<Program> {
  return startScript(
    root,
    `import { LocalEngine } from ${JSON.stringify(DOOR)};
    const engine = new LocalEngine(${JSON.stringify(books)}, ${JSON.stringify(DEVICES)});
    await engine.submit(${JSON.stringify(attempt)});
    console.log("submitted");
    setTimeout(() => {}, 300_000);`,
  );
}

/** Brings a program to a moment. */
async function reach(moment: Moment, program: FamilyProgram, engine: LocalEngine, folder: string) {
  if (moment === "before its turn") return 0;
  const leader = await program.leader();
  if (moment === "begun") return leader;
  program.open("start");
  await program.up();
  if (moment === "saving") {
    await engine.save(folder);
    await program.saving();
  }
  if (moment === "ended") {
    program.open("done");
    await until("it ends", async () => (await stateOf(engine, folder)).state === "ended");
  }
  return leader;
}

const stateOf = async (engine: LocalEngine, folder: string) =>
  (await engine.states([folder])).get(folder)!;

function resultLine(folder: string): End {
  const result = readResult(folder);
  if (result === null) return readLease(folder) === null ? null : "lost";
  assert.equal(result.token, readLease(folder)!.token, "the result is of who had the lease");
  return result.how === "timeout" ? null : `${result.how} ${result.signal ?? result.code}`;
}

/** That nothing of an attempt runs any more when it is said to have ended, and that nothing begins again. */
async function holds(
  engine: LocalEngine,
  attempt: Attempt,
  { mark, program, due }: { mark: string; program: FamilyProgram; due: End },
): Promise<void> {
  const { folder } = attempt;
  const state = await until("it has ended", async () => {
    const one = await stateOf(engine, folder);
    return one.state === "ended" ? one : null;
  });
  // What was sent SIGKILL does nothing more, and is gone when the kernel comes to it.
  await until(
    `nothing outlives it (${due}); alive: ${marked(mark)}`,
    () => marked(mark).length === 0,
    5,
  ).finally(() => marked(mark).forEach((pid) => kill(pid, "SIGKILL")));
  assert.equal(resultLine(folder), due);
  const how = due === null
    ? "cancelled"
    : due.startsWith("cancelled")
    ? "cancelled"
    : due === "lost"
    ? "lost"
    : due.includes("SIG")
    ? "signal"
    : "exit";
  assert.equal(state.how, how, `its engine says ${JSON.stringify(state)}`);
  const { lease } = seenAttempt(folder, watchLeases());
  assert.notEqual(due === null ? "none" : lease, "fresh", "nobody holds it");
  await engine.submit(attempt);
  assert.deepEqual(await stateOf(engine, folder), state, "a repeated submission changes nothing");
  assert.equal(program.began, due === null ? 0 : 1, "how often it began");
}

/** A second attempt counts, as it begins, what still runs of the first. */
async function retry(engine: LocalEngine, first: Attempt, mark: string): Promise<void> {
  const folder = `${first.folder}-again`;
  const found = `${folder}.found`;
  const line = `grep -lsz '^PARE_TEST_POINT=${mark}$' /proc/[0-9]*/environ | wc -l > ${found}`;
  await engine.submit({ ...first, attempt: 2, folder, argv: ["sh", "-c", line] });
  await until("the second attempt ends", async () => {
    const { state } = await stateOf(engine, folder);
    return state === "ended";
  });
  assert.equal(resultLine(folder), "done 0");
  assert.equal(readFileSync(found, "utf8").trim(), "0", "the first ran when the second began");
  sometimes("processes: a second attempt began");
}

/** What holds the one slot, so that others wait for their turn. */
async function fullEngine(root: string, folder: string) {
  const books = join(root, "full");
  const engine = new LocalEngine(books, DEVICES);
  const argv = ["sleep", "1000"];
  const { slots } = DEVICES;
  await engine.submit({ id: "holder", attempt: 1, argv, folder, env: {}, slots, seconds: null });
  await until("the slot is taken", () => readLease(folder));
  return {
    books,
    async end() {
      await engine.cancel(folder);
      await until(
        "the slot is free",
        async () => (await stateOf(engine, folder)).state === "ended",
      );
    },
  };
}

async function point(n: number, root: string, full: () => Promise<string>): Promise<void> {
  const { act, moment, family } = POINTS[n]!;
  const mark = `${Deno.pid}-${n}`;
  const at = join(root, String(n));
  using program = await familyProgram(join(at, "work"), mark, family);
  const folder = join(at, "attempt");
  const { slots } = DEVICES;
  const attempt: Attempt = {
    ...{ id: `point-${n}`, attempt: 1, argv: program.argv, folder },
    ...{ env: {}, slots, seconds: null },
  };
  const free = join(at, "books");
  const books = moment === "before its turn" ? await full() : free;
  using engine = new LocalEngine(books, DEVICES);
  const core = act.core === true ? await coreOf(at, books, attempt) : null;
  if (core === null) await engine.submit(attempt);
  else assert.equal(await core.line(), "submitted");
  const leader = await reach(moment, program, engine, folder);
  const wrapper = readLease(folder)?.pid ?? 0;
  await act.do({ engine, folder, leader, wrapper, core });
  sometimes(`processes: ${moment}`);
  // The next look: by an engine that knows only what is on the disk.
  using next = new LocalEngine(moment === "before its turn" ? free : books, DEVICES);
  let due = act.end(moment);
  if (act.core === true && due === "done 0" && moment === "before its turn") {
    assert.equal((await stateOf(next, folder)).state, "unknown", "it was not begun");
    await next.submit(attempt);
    program.open("start");
    await program.up();
    program.open("done");
  } else if (act.core === true && due !== "lost") await next.save(folder);
  if (due !== "lost") program.open("go");
  if (act.late === true && moment === "saving") {
    await until("its result", () => readResult(folder));
    if (resultLine(folder) === "saved 3") due = "saved 3";
  }
  await holds(next, attempt, { mark, program, due });
  if (wrapper > 0) await until("the wrapper ends", () => !isAlive({ pid: wrapper, start: "" }));
  if (due !== null && due !== "done 0" && !due.startsWith("cancelled")) {
    await retry(next, attempt, mark);
  }
  assert.deepEqual((await next.capacity()).free, DEVICES.slots, "its slots are free again");
}

/** Points behind the others: a wrapper that is killed as it starts, and who submitted it lives or not. */
const STARTS = 4;

async function startPoint(n: number, root: string): Promise<Injected> {
  const gone = n % 2 === 1;
  const injected: Injected = {
    file: "a wrapper",
    call: `SIGKILL before its lease, ${gone ? "another" : "the same"} engine looks`,
    kind: "survivable",
  };
  return await injecting(injected, async () => {
    const hit = await killBeforeLease(join(root, `start-${n}`), DEVICES, gone);
    if (hit) sometimes("processes: a wrapper is killed before its lease");
  });
}

export const processes: Loop = {
  name: "processes",
  about:
    "a job's program with children and grandchildren: leader, wrapper and core killed, stopped",
  reaches: [
    ...ALL.map((moment) => `processes: ${moment}`),
    "processes: a second attempt began",
    "processes: a wrapper is killed before its lease",
  ],
  open(_seed, root): Promise<Walk> {
    let holder: Awaited<ReturnType<typeof fullEngine>> | null = null;
    const full = async () => (holder ??= await fullEngine(root, join(root, "holder"))).books;
    return Promise.resolve({
      points: POINTS.length + STARTS,
      async at(n): Promise<Injected | undefined> {
        if (n >= POINTS.length + STARTS) return undefined;
        if (n >= POINTS.length) return await startPoint(n - POINTS.length, root);
        const { act, moment, family } = POINTS[n]!;
        const injected: Injected = {
          ...{ file: `a program with children ${family}`, call: `${moment}: ${act.name}` },
          kind: "survivable",
        };
        return await injecting(injected, () => point(n, root, full));
      },
      async [Symbol.asyncDispose]() {
        await holder?.end();
      },
    });
  },
};
