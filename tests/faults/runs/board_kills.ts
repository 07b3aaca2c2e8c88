/** A board and the study that it began: either ends, and the next board has what is left. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readLease } from "../../../tracker/jobs/attempt/lease.ts";
import { attemptFolder, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { family } from "../../fixtures/killed_study.ts";
import { emptyHome } from "../../fixtures/notebook_run.ts";
import { pareWords, type Program, startProgram } from "../../fixtures/programs.ts";
import { isAlive } from "../../python-backends/scripted_worker.ts";
import { until } from "../processes/family.ts";
import type { RunFaults } from "./run_faults.ts";

interface Board {
  readonly program: Program;
  ask(path: string, body?: object, method?: string): Promise<Record<string, unknown>>;
}

/** `pare board` in a home of its own. */
async function startBoard(home: string): Promise<Board> {
  const env = { PARE_HOME: home, HF_HUB_OFFLINE: "1" };
  const words = pareWords("board", "--no-open", "--port", "0");
  const program = startProgram(words, { env });
  const url = new URL(await program.line() ?? "");
  const headers = {
    "authorization": `Bearer ${url.searchParams.get("token")}`,
    "content-type": "application/json",
  };
  return {
    program,
    async ask(path, body, method = body === undefined ? "GET" : "POST") {
      const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      return await (await fetch(url.origin + path, { ...init, headers })).json();
    },
  };
}

type Job = Record<"job_id" | "study_id" | "state" | "reason", string> & {
  attempt: number;
  said: string[];
};

async function jobOf(board: Board): Promise<Job> {
  const [job] = await board.ask("/api/queue") as unknown as Job[];
  return job!;
}

/** A board with a study that has begun its baseline, and the process that runs it. */
async function running(home: string, max_trials: number) {
  const board = await startBoard(home);
  const asked = { model_name: "tiny", dataset: "tiny", max_trials };
  const { study_id, job_id } = await board.ask("/api/studies", asked) as unknown as Job;
  await until("the baseline runs", async () => {
    const { trials } = await board.ask(`/api/studies/${study_id}`);
    return Number(trials) > 0;
  }, 120);
  const paths = queuePaths(join(home, "store"));
  const pid = () => readLease(attemptFolder(paths, job_id, 1))!.pid;
  return { board, study_id, paths, pid: pid() };
}

async function ended(board: Board): Promise<void> {
  board.program.signal("SIGINT");
  assert.deepEqual(await board.program.exited, { code: 0, signal: null });
}

/** It ends as by Ctrl-C, and nothing of it goes on. */
async function cancelled(home: string): Promise<void> {
  const { board, study_id, pid } = await running(home, 3);
  const all = await family(pid);
  assert.ok(all.length > 3, "the wrapper has a study, a nursery and a worker");
  await board.ask(`/api/studies/${study_id}`, undefined, "DELETE");
  await until("it is over", async () => (await jobOf(board)).state === "cancelled", 60);
  await until("nothing of it is left", () => !all.some(isAlive), 10);
  const { stop } = await board.ask(`/api/studies/${study_id}`);
  assert.equal(stop, "cancelled");
  await ended(board);
}

/** The next board has it, and it goes on where it was. */
async function killedBoth(home: string): Promise<void> {
  const { board: first, study_id, pid } = await running(home, 2);
  Deno.kill(first.program.pid, "SIGKILL");
  await first.program.exited;
  const second = await startBoard(home);
  const { state, attempt, said } = await jobOf(second);
  assert.deepEqual([state, attempt], ["running", 1]);
  assert.ok(said.some((line) => line.includes(study_id)), said.join("\n"));

  const all = await family(pid);
  Deno.kill(pid, "SIGKILL");
  await until("nothing of it is left", () => !all.some(isAlive), 40);
  await until("the board knows", async () => (await jobOf(second)).state === "waiting", 40);
  assert.match((await jobOf(second)).reason, /waits until .* to try again: it vanished/);
  await until("it is done", async () => (await jobOf(second)).state === "done", 400);
  assert.equal((await jobOf(second)).attempt, 2);
  await ended(second);

  await using store = await openStore(join(home, "store"), { write: false });
  const trials = await store.ask(
    "SELECT strategy_id, count(*) AS times FROM trials WHERE state = 'completed' GROUP BY ALL",
  );
  assert.equal(trials.length, 3, "the baseline and two trials");
  assert.deepEqual(trials.map(({ times }) => Number(times)), [1, 1, 1]);
}

const DOES: Readonly<Record<string, (home: string) => Promise<void>>> = {
  "its study is cancelled": cancelled,
  "kill -9 of the board, and then of its study": killedBoth,
};

export const boardKills: RunFaults = {
  name: "a board",
  points: Object.keys(DOES),
  open: () => Promise.resolve(async (point, folder) => DOES[point]!(await emptyHome(folder))),
};
