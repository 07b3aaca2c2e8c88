/** The trials of one study on the machines of a SLURM partition, some of which are lost. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { emptyHome } from "../fixtures/notebook_run.ts";
import { pareWords } from "../fixtures/programs.ts";
import { hasSlurm, NO_SLURM, startSlurm } from "../fixtures/slurm_cluster.ts";
import { shareDefaultEnvironment, until } from "../python-backends/scripted_worker.ts";
import { ignoreUnless } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";

Deno.test({
  name: "two trials of a study run on SLURM, a job is lost, the study is killed, and goes on",
  ignore: ignoreUnless(await hasSlurm(), NO_SLURM),
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await shareDefaultEnvironment();
    const cluster = await startSlurm();
    try {
      const home = await emptyHome(temporaryFolder("workers-slurm"));
      const store = join(home, "store");
      const env = { ...cluster.env, PARE_HOME: home, HF_HUB_OFFLINE: "1", PARE_QUIET_SECONDS: "0" };
      const start = (...words: string[]) => {
        const [program, ...more] = pareWords(...words);
        const how = { env, reject: false, stdin: "ignore", all: true, buffer: true } as const;
        const run = execa(program!, more, how);
        let said = "";
        run.all.on("data", (chunk: Uint8Array) => said += new TextDecoder().decode(chunk));
        return { run, said: () => said };
      };
      const there = ["--engine", "slurm:low", "--yes"];
      const asked = ["--model", "tiny", "--dataset", "tiny", "--methods", "rtn"];
      const jobs = async () => {
        const { stdout } = await execa("squeue", ["-h", "-o", "%i"], { env });
        return stdout.split("\n").filter((one) => one !== "");
      };
      const runs = () => readdirSync(join(home, "workers"));

      const wrong = start("run", ...asked, "--engine", "slurm:lo", "--yes");
      assert.equal((await wrong.run).exitCode, 2);
      assert.match(wrong.said(), /Unknown partition "lo". Did you mean "low"/);

      const first = start("run", ...asked, ...there, "--workers", "2", "--max-trials", "6");
      const sees = (what: RegExp, { said }: typeof first) =>
        until(`${what} in ${said()}`, () => what.test(said()), 180_000);
      await sees(/trials 1 to 2 of 6/, first);
      assert.equal((await jobs()).length, 2, first.said());
      await execa("scancel", [(await jobs())[0]!], { env });
      await sees(/worker \d on \S+ was lost/, first);
      for (const trial of ["t01", "t02"]) await sees(new RegExp(`${trial} .*: completed`), first);
      first.run.kill("SIGKILL");
      await first.run;
      await until("the jobs are gone", async () => (await jobs()).length === 0, 90_000);

      const again = start("resume", ...there, "--max-trials", "4", "--workers", "1");
      await until("one worker is there", async () => (await jobs()).length > 0, 90_000);
      assert.equal((await jobs()).length, 1, "it was asked for one worker in place of two");
      const { exitCode } = await again.run;
      assert.equal(exitCode, 0, again.said());
      assert.deepEqual(
        runs().filter((name) => name.startsWith("run-")),
        [],
        "a run's folder is left",
      );
      const sql = async (query: string) => {
        const [program, ...more] = pareWords("sql", query, "--store", store, "--format", "json");
        return JSON.parse((await execa(program!, more, { env })).stdout) as Record<
          string,
          unknown
        >[];
      };
      const states = await sql("SELECT state, count(*) AS n FROM trials GROUP BY ALL ORDER BY ALL");
      // Whether the worker had a call when it was lost is chance: study_workers_test.ts has its alert.
      assert.ok(
        states.some(({ state, n }) => state === "completed" && Number(n) >= 2),
        again.said(),
      );
      assert.ok(!states.some(({ state }) => state === "failed"), JSON.stringify(states));
    } finally {
      cluster.end();
    }
  },
});
