/** What the engine of SLURM makes of programs that are missing, slow, down or print what it cannot read. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SlurmEngine } from "../../../tracker/jobs/engines/slurm/slurm_engine.ts";
import { capacityOf } from "../../../tracker/jobs/engines/slurm/slurm_answers.ts";
import { writeRequest } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { temporaryFolder } from "../../temporary_folder.ts";
import { attemptOf } from "./engine_cases.ts";

const NODE = "NodeName=n1 CPUAlloc=1 CPUTot=8 Gres=gpu:a100:4(S:0-1) GresUsed=gpu:a100:1(IDX:0) " +
  "RealMemory=64000 AllocMem=1000 State=MIXED Partitions=long,short OS=Linux x CPUTot=9";

/** Runs with these programs first on the path; each writes its words to a file of its name. */
async function withPrograms(
  programs: Readonly<Record<string, string>>,
  run: (engine: SlurmEngine, folder: string) => Promise<void>,
): Promise<void> {
  const folder = temporaryFolder("slurm-answers");
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const [name, body] of Object.entries({ scontrol: `echo '${NODE}'`, ...programs })) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "$@" >> ${folder}/${name}.asked\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const path = Deno.env.get("PATH")!;
  Deno.env.set("PATH", `${bin}:${path}`);
  try {
    const options = {
      partition: "long",
      account: "lab",
      minutes: 5,
      gres: "gpu:a100",
      extra: ["--qos=low"],
    };
    await run(new SlurmEngine("big", { ...options, deno: "/deno", machine: "a100" }), folder);
  } finally {
    Deno.env.set("PATH", path);
  }
}

const asked = (folder: string, name: string) =>
  existsSync(join(folder, `${name}.asked`))
    ? readFileSync(join(folder, `${name}.asked`), "utf8").trim().split("\n")
    : [];

Deno.test("a submission says all that its job needs, and no shell reads it", () =>
  withPrograms({ squeue: "", sbatch: "echo 7" }, async (engine, root) => {
    const slots = { cpu: 2.5, gpu: 2, memory_gb: 3 };
    const attempt = attemptOf({ root }, "exit 0", { slots, seconds: 90, id: "Job-1" });
    assert.equal(await engine.submit(attempt), attempt.folder);
    const [words] = asked(root, "sbatch");
    for (
      const word of [
        ...["--job-name=Job-1-1", "--dependency=singleton", "--no-requeue", "--signal=B:USR1@120"],
        ...[
          "--open-mode=append",
          `--output=${attempt.folder}/log`,
          "--cpus-per-task=3",
          "--time=6",
        ],
        ...["--gres=gpu:a100:2", "--mem=2862M", "--partition=long", "--account=lab", "--qos=low"],
      ]
    ) assert.ok(words!.split(" ").includes(word), `${word} in ${words}`);
  }));

Deno.test("a submission whose answer is lost is found by its name, and not made twice", () =>
  withPrograms({
    // Takes the job, and then its answer times out.
    sbatch: 'echo "$0 took it" > "$(dirname "$0")/../taken"; ' +
      'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1',
    squeue: 'test -e "$(dirname "$0")/../taken" && ' +
      'echo "7|lost-1|PENDING|Resources|$(dirname "$(dirname "$0")")/lost-1" || true',
  }, async (engine, root) => {
    const attempt = attemptOf({ root }, "exit 0", { id: "lost" });
    await assert.rejects(engine.submit(attempt), {
      kind: "down",
      message:
        "Cannot submit lost to big: Batch job submission failed: Socket timed out on send/recv operation",
    });
    await engine.submit(attempt);
    assert.equal(asked(root, "sbatch").length, 1);
  }));

Deno.test("a job of the same name that works in another folder is a copied store's, and nothing is submitted", async () => {
  for (const [state, copies] of [["RUNNING", true], ["PENDING", true], ["COMPLETED", false]]) {
    const squeue = `echo "7|pare-1-1|${state}|None|/other/store/pare-1-1"`;
    await withPrograms({ squeue, sbatch: "echo 8" }, async (engine, root) => {
      const submitted = engine.submit(attemptOf({ root }, "exit 0", { id: "pare-1" }));
      if (!copies) assert.equal(await submitted, join(root, "pare-1-1"));
      else {
        await assert.rejects(submitted, {
          kind: "refused",
          message:
            "Cannot submit pare-1 to big as a job of that name is there for /other/store/pare-1-1: one " +
            "of both stores is a copy of the other with its queue; remove the folder queue/ of the copy",
        });
      }
      assert.equal(asked(root, "sbatch").length, copies ? 0 : 1);
    });
  }
});

Deno.test("a controller that is down answers later; what it refuses it will never take", async () => {
  const down =
    'echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1';
  await withPrograms({ squeue: down, scancel: down }, async (engine, root) => {
    const { folder } = attemptOf({ root }, "exit 0");
    await assert.rejects(engine.states([folder]), {
      kind: "down",
      message: /Unable to contact slurm/,
    });
    await assert.rejects(engine.find("x", 1), { kind: "down" });
  });
  const refuses =
    'echo "sbatch: error: Batch job submission failed: Invalid account or account/partition ' +
    'combination specified" >&2; exit 1';
  await withPrograms({ squeue: "", sbatch: refuses }, async (engine, root) => {
    await assert.rejects(engine.submit(attemptOf({ root }, "exit 0", { id: "x" })), {
      kind: "refused",
      message:
        "Cannot submit x to big: Batch job submission failed: Invalid account or account/partition " +
        "combination specified",
    });
  });
});

Deno.test("where SLURM is not there a sentence says what to do", async () => {
  const path = Deno.env.get("PATH")!;
  Deno.env.set("PATH", temporaryFolder("empty"));
  try {
    const options = { partition: null, account: null, minutes: null, gres: "gpu", extra: [] };
    const engine = new SlurmEngine("big", { ...options, deno: "/deno", machine: null });
    await assert.rejects(engine.check("/x"), {
      kind: "refused",
      message:
        "Cannot ask for the partitions of big as there is no scontrol here: run pare where SLURM's " +
        "programs are, such as on the cluster's login machine",
    });
  } finally {
    Deno.env.set("PATH", path);
  }
});

Deno.test("where its programs are and no cluster is, a sentence says what to do", async () => {
  const fatal = 'echo "scontrol: error: _establish_config_source: failed to fetch config" >&2; ' +
    'echo "scontrol: fatal: Could not establish a configuration source" >&2; exit 1';
  await withPrograms({ scontrol: fatal }, async (engine) => {
    await assert.rejects(engine.check("/x"), {
      kind: "refused",
      message:
        "Cannot ask for the partitions of big as scontrol knows of no cluster here: run pare on " +
        "one of its machines, or set SLURM_CONF to its slurm.conf",
    });
  });
});

Deno.test("a controller that hangs up, as on a clock that is an hour off, is said to be one", async () => {
  const said =
    'echo "slurm_load_partitions error: Zero Bytes were transmitted or received" >&2; exit 1';
  await withPrograms({ scontrol: said }, async (engine) => {
    await assert.rejects(engine.check(null), {
      kind: "down",
      message: /Zero Bytes were .* received, as where a controller's clock and .* minutes apart/,
    });
  });
});

Deno.test("what squeue prints that is no job is none, and accounting is asked for what it has forgotten", async () => {
  const sacct =
    'echo "old-1|CANCELLED by 0|0:15"; echo "slow-1|TIMEOUT|0:0"; echo "seven-1|FAILED|7:0"';
  const names = ["old", "slow", "seven", "nobody"];
  await withPrograms({ squeue: 'echo "garbage {]"; echo "|||"', sacct }, async (engine, root) => {
    const attempts = names.map((id) => attemptOf({ root }, "exit 0", { id }));
    attempts.forEach((one) => writeRequest(one));
    const states = await engine.states(attempts.map(({ folder }) => folder));
    assert.deepEqual([...states.values()], [
      { state: "ended", how: "cancelled", code: null },
      { state: "ended", how: "lost", code: null, reason: "SLURM says TIMEOUT" },
      { state: "ended", how: "exit", code: 7 },
      { state: "unknown", reason: "big knows no such job, or has forgotten it" },
    ]);
    assert.equal(asked(root, "squeue").length, 1, "all in one question");
  });
  const none = 'echo "Slurm accounting storage is disabled" >&2; exit 1';
  await withPrograms({ squeue: "", sacct: none }, async (engine, root) => {
    const attempt = attemptOf({ root }, "exit 0");
    writeRequest(attempt);
    for (let n = 0; n < 3; n++) await engine.states([attempt.folder]);
    assert.equal(asked(root, "sacct").length, 1, "it stays disabled");
  });
});

Deno.test("what its machines hold is read of the partition's, those that are down in no sum", () => {
  const down = NODE.replace("n1", "n2").replace("MIXED", "DOWN*").replace("CPUTot=8", "CPUTot=64");
  const other = NODE.replace("long,short", "other");
  const { total, free, largest } = capacityOf([NODE, down, other, ""].join("\n"), "long");
  assert.deepEqual([total.cpu, total.gpu, free.cpu, free.gpu, largest.cpu], [8, 4, 7, 3, 64]);
  assert.ok(Math.abs(total.memory_gb! - 67.1) < 0.1);
  assert.equal(capacityOf(NODE, "none").total.cpu, 0);
});
