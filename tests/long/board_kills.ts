import assert from "node:assert/strict";
import { join } from "node:path";
import { readChild } from "../../python-backends/child/child_folder.ts";
import { processFolder, type Submission } from "../../tracker/board/submission.ts";
import { family } from "../fixtures/killed_study.ts";
import { emptyHome } from "../fixtures/notebook_run.ts";
import { pareWords, type Program, startProgram } from "../fixtures/programs.ts";
import { isAlive, until } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

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

/** Who is killed while the baseline is measured, and what the next board says of the study's process. */
const KILLS: Record<string, { killed: ("board" | "study")[]; state: string; exit_code: unknown }> =
  {
    "a board": { killed: ["board"], state: "ended", exit_code: 130 },
    "a study": { killed: ["study"], state: "died", exit_code: 1 },
    "a board and its study": { killed: ["study", "board"], state: "died", exit_code: null },
  };

Deno.test("a study that its board stops is cancelled, not failed", async () => {
  const board = await startBoard(await emptyHome(temporaryFolder("board-stop")));
  const asked = { model_name: "tiny", dataset: "tiny", max_trials: 3 };
  const { study_id } = await board.ask("/api/studies", asked) as { study_id: string };
  const submitted = async () =>
    (await board.ask(`/api/studies/${study_id}`))["submitted"] as Submission;
  await until("it begins", async () => (await submitted()).said.length > 0, 60_000);
  await board.ask(`/api/studies/${study_id}`, undefined, "DELETE");
  await until("it is over", async () => (await submitted()).state === "ended", 60_000);
  assert.equal((await submitted()).exit_code, 130);
  board.program.signal("SIGINT");
  assert.deepEqual(await board.program.exited, { code: 0, signal: null });
});

for (const [who, { killed, state, exit_code }] of Object.entries(KILLS)) {
  Deno.test(`kill -9 of ${who}: nothing goes on computing, and the next board knows how it stands`, async () => {
    const home = await emptyHome(temporaryFolder("board-kills"));
    const first = await startBoard(home);
    const asked = { model_name: "tiny", dataset: "tiny", max_trials: 3 };
    const { study_id } = await first.ask("/api/studies", asked) as { study_id: string };
    const folder = processFolder(join(home, "studies"), study_id);
    await until("the baseline runs", async () => {
      const { trials } = await first.ask(`/api/studies/${study_id}`);
      return Number(trials) > 0;
    }, 120_000);
    const child = readChild(folder);
    assert.equal(child.state, "running");
    const study = child.state === "running" ? child.owner.pid : 0;
    const all = await family(study);
    assert.ok(all.length > 2, "the study has a nursery and a worker");

    for (const one of killed) Deno.kill(one === "board" ? first.program.pid : study, "SIGKILL");
    await until("nothing of it is left", () => !all.some(isAlive), 40_000);
    if (!killed.includes("board")) {
      await until("the board knows", async () => {
        const { submitted } = await first.ask(`/api/studies/${study_id}`);
        return (submitted as { state: string }).state === "ended";
      });
      first.program.signal("SIGINT");
    }
    await first.program.exited;

    assert.equal(readChild(folder).state, state);
    const second = await startBoard(home);
    const found = await second.ask(`/api/studies/${study_id}`);
    const submitted = found["submitted"] as { state: string; exit_code: unknown; said: string[] };
    assert.deepEqual([submitted.state, submitted.exit_code], ["ended", exit_code]);
    assert.ok(submitted.said.some((line) => line.includes(study_id)), submitted.said.join("\n"));
    second.program.signal("SIGINT");
    await second.program.exited;
  });
}
