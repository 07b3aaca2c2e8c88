/**
 * One study with two workers against one, in turn: `deno run -A tests/benchmarks/workers/bench_workers.ts
 * [--rounds 3] [--trials 16] [--dataset tiny] [--keep FOLDER]`. The study is of the tiny model and
 * of fixed recipes, so that both run the same trials; each run has a PARE_HOME of its own, in which nothing is found. Prints the wall
 * seconds of the journal with and without its baseline, what was timed in it, and the load before it. No timing
 * waits for a quiet machine: its figures are not looked at.
 */
import { execa } from "execa";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { JournalRecord } from "../../../core/mod.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { openStore } from "../../../tracker/store/store.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

const { values: given } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    trials: { type: "string", default: "16" },
    dataset: { type: "string", default: "tiny" },
    keep: { type: "string" },
  },
});

const RECIPES = [8, 4, 3, 2].flatMap((bits) =>
  [32, 64].flatMap((group_size) =>
    [true, false].map((symmetric) => ({
      actions: [{ agent: "quantization", method: "gptq", params: { bits, group_size, symmetric } }],
    }))
  )
);

function document(workers: number, trials: number) {
  return {
    ...{
      model_name: "tiny",
      dataset: given.dataset,
      offline: true,
      earlier_studies: false,
      rules: [],
    },
    ...{ strategies: RECIPES.slice(0, trials), max_trials: trials, max_full_evaluations: trials },
    ...{ runtime: "openvino", convergence_episodes: 100, workers },
  };
}

/** What a run took by its journal, in seconds. */
function measured(records: readonly JournalRecord[]) {
  const at = (record: JournalRecord | undefined) => Date.parse(record!.at) / 1000;
  const [opened, closed] = [records[0], records.at(-1)];
  const first = records.find((one) => one.type === "trial_closed" && one.trial.strategy === null);
  const trials = records.flatMap((one) => one.type === "trial_closed" ? [one.trial] : []);
  const spans = trials.flatMap((trial) => trial.strategy === null ? [] : trial.spans);
  const sum = (phase: string) =>
    spans.filter((span) => span.phase === phase).reduce((all, one) => all + one.seconds, 0);
  return {
    whole: at(closed) - at(opened),
    trials: at(closed) - at(first),
    speed: sum("speed"),
    other: spans.reduce((all, one) => all + one.seconds, 0) - sum("speed"),
    closed: trials.filter(({ state }) => state === "completed" || state === "stopped").length - 1,
  };
}

async function runOnce(workers: number, folder: string) {
  const home = join(folder, "home");
  await mkdir(home, { recursive: true });
  await symlink(join(findHome(Deno.env.toObject()).root, "envs"), join(home, "envs"));
  const path = join(folder, "study.json");
  await writeFile(path, JSON.stringify(document(workers, Number(given.trials))));
  const load = Deno.loadavg()[0]!;
  const words = ["run", "--quiet", "--allow-all", "tracker/cli.ts", "run", path, "--yes"];
  await execa(Deno.execPath(), words, {
    cwd: ROOT,
    env: { PARE_HOME: home, PARE_QUIET_SECONDS: "0", HF_HUB_OFFLINE: "1" },
    stdin: "ignore",
    all: true,
  });
  await using store = await openStore(join(home, "store"), { write: false });
  const [study_id] = await store.studyIds();
  return { load, ...measured(await store.journalOf(study_id!)) };
}

const folder = given.keep ?? await mkdtemp(join(tmpdir(), "pare-workers-"));
const rows: (Awaited<ReturnType<typeof runOnce>> & { workers: number })[] = [];
try {
  for (let round = 0; round < Number(given.rounds); round++) {
    for (const workers of [1, 2]) {
      const row = { workers, ...await runOnce(workers, join(folder, `${round}-${workers}`)) };
      rows.push(row);
      console.log(
        Object.entries(row).map(([name, value]) => `${name} ${value.toFixed(1)}`).join("  "),
      );
    }
  }
} finally {
  if (given.keep === undefined) await rm(folder, { recursive: true, force: true });
}
for (const part of ["whole", "trials"] as const) {
  const best = (workers: number) =>
    Math.min(...rows.filter((row) => row.workers === workers).map((row) => row[part]));
  console.log(
    `${part}: ${best(1).toFixed(1)} s with one, ${best(2).toFixed(1)} s with two, ` +
      `${(best(1) / best(2)).toFixed(2)} times as fast (best of ${given.rounds} each)`,
  );
}
