/** A real study in line for a SLURM partition, as a user of a cluster has it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { execa } from "execa";
import { emptyHome } from "../fixtures/notebook_run.ts";
import { pareWords } from "../fixtures/programs.ts";
import { hasSlurm, NO_SLURM, startSlurm } from "../fixtures/slurm_cluster.ts";
import { ignoreUnless } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";

interface Row {
  readonly job_id: string;
  readonly state: string;
  readonly reason: string;
  readonly engine: string | null;
  readonly section: string;
}

Deno.test({
  name: "a study goes by the queue to a SLURM partition, and its results are in the store",
  ignore: ignoreUnless(await hasSlurm(), NO_SLURM),
  fn: async () => {
    const cluster = await startSlurm();
    try {
      const home = await emptyHome(temporaryFolder("queue-slurm"));
      const env = { ...cluster.env, PARE_HOME: home, HF_HUB_OFFLINE: "1" };
      const pare = async (...words: string[]) => {
        const [program, ...more] = pareWords(...words);
        return await execa(program!, more, { env, reject: false, stdin: "ignore" });
      };
      const asked = ["--model", "tiny", "--dataset", "tiny", "--max-trials", "1"];
      const one = await pare("queue", "add", ...asked, "--engine", "slurm:low", "--slots", "cpu=2");
      assert.match(one.stdout, /^EXP-001 is in line/);
      const cards = await pare(
        "queue",
        "add",
        ...asked,
        "--engine",
        "slurm:low",
        "--slots",
        "gpu=3",
      );
      assert.match(cards.stderr, /slurm:low: it needs 3 cards, of 2 that its largest machine has/);
      const slip = await pare("queue", "add", ...asked, "--engine", "slurm:lo");
      assert.match(slip.stderr, /Unknown partition "lo"\. Did you mean "low"\? Known: low, urgent/);
      assert.deepEqual([cards.exitCode, slip.exitCode], [2, 2]);
      const hidden = join(cluster.hidden, "store");
      const alone = await pare(
        "queue",
        "add",
        ...asked,
        "--engine",
        "slurm:low",
        "--store",
        hidden,
      );
      assert.match(
        alone.stderr,
        /its machines do not see .*: keep the store in a folder that they/,
      );
      assert.equal(alone.exitCode, 2);
      await pare("queue", "add", ...asked, "--slots", "gpu=3"); // for any engine
      const work = await pare("queue", "work", "--engine", "slurm:low", "--until-idle");
      assert.equal(work.exitCode, 0, work.stderr);
      const listed = JSON.parse((await pare("queue", "list", "--json")).stdout) as { data: Row[] };
      const rows = new Map(listed.data.map((row) => [row.job_id, row]));
      const { state, engine } = rows.get("EXP-001")!;
      const log = (await pare("queue", "log", "EXP-001")).stdout;
      assert.deepEqual([state, engine], ["done", "slurm:low"], `${work.stdout}\n${log}`);
      const none = rows.get("EXP-002")!;
      assert.deepEqual([none.section, none.reason], ["blocked", "no machine here has 3 cards"]);
      const counted = await pare(
        ...["sql", "SELECT count(*) AS n FROM trials WHERE state = 'completed'"],
        ...["--store", join(home, "store"), "--format", "json"],
      );
      assert.deepEqual(JSON.parse(counted.stdout), [{ n: 2 }], log);
      const unknown = await pare("queue", "work", "--engine", "slurm:lo", "--until-idle");
      assert.match(unknown.stderr, /lo.*(partition|Did you mean)/);
      assert.equal(unknown.exitCode, 2, unknown.stderr);
    } finally {
      cluster.end();
    }
  },
});
