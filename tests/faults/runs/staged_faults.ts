/** A stage whose real worker goes wrong: the ledger tells it in a line, and the good one before it is shipped. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type JournalRecord,
  replayStudy,
  stagesRequest,
  type StudyEvent,
} from "../../../core/mod.ts";
import { artifactId } from "../../../tracker/artifacts/artifact_files.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openLab, silentAsk } from "../../../tracker/mod.ts";
import { answers, killWorkers, taskFile } from "../../fixtures/killed_study.ts";
import { fill, lacksSmallDisk, mountDisk } from "../../fixtures/small_disk.ts";
import { withVariables } from "../../python-backends/scripted_worker.ts";
import { folderIn, type RunFaults } from "./run_faults.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const FAULTY = join(ROOT, "tests/fixtures/third_party/faulty/faulty.ts");
const SAMPLES = 50;

const action = (params: { bits: 4 | 8; fault?: string }) => ({
  agent: "faulty",
  method: "faulty_rounding",
  params,
});

/** A stage on the original that a failure leaves out. */
const stage = (name: string, params: { bits: 4 | 8; fault?: string }) => ({
  ...{ name, actions: [action(params)], onto: "original", attempts: 1, when_failed: "next" },
});

/** What the ledger says of each fault. */
const SAID: Readonly<Record<string, RegExp>> = {
  crash: /^crash: .*SIGSEGV/,
  hang: /^stall: /,
  nan: /^not_a_number: /,
  // The original came as 32-bit floats: as 16-bit ones its bytes are others, and more than what stands.
  parent: /holds the weights of its parent|more than its parent's/,
  "full disk": /^disk_full: .*no space/i,
  "benchmark that dies": /^crash: .*SIGKILL/,
};
/** Those that its worker does by itself. */
const OWN = ["crash", "hang", "nan", "parent"];

/** Long enough answers to be killed among. */
async function writeTask(folder: string): Promise<string> {
  const text = await readFile(join(ROOT, "plugins/evaluation/data/tiny_words.jsonl"), "utf8");
  const rows = text.trim().split("\n").slice(0, SAMPLES);
  const data = join(folder, "rows.jsonl");
  await writeFile(data, rows.map((row) => `${row}\n`).join(""));
  const definition = {
    output_type: "generate_until",
    doc_to_text: "{{prompt}}",
    doc_to_target: "{{answer}}",
    generation_kwargs: { do_sample: false, max_gen_toks: 60, until: ["?"] },
    metric_list: [{ metric: "exact_match", aggregation: "mean", higher_is_better: true }],
    metadata: { version: 1, fields: { prompt: "string", answer: "string" } },
  };
  const path = join(folder, "long_answers.ts");
  const data_file = new URL(`file://${data}`).href;
  const more = { definition, data_file, metric: "exact_match,none", datasets: ["faults"] };
  await writeFile(path, taskFile("long_answers", SAMPLES, more));
  return path;
}

const requestOf = (fault: string, task: string) =>
  stagesRequest({
    model_name: "tiny",
    dataset: "tiny,faults",
    plugins: [FAULTY, task],
    stall_minutes: 0.4,
    core: ["tiny_words"],
    experts: { answers: ["long_answers"] },
    critical: { core: 0, expert_drop: 1 },
    samples: { first: SAMPLES, most: SAMPLES },
    stages: [
      stage("good", { bits: 8 }),
      OWN.includes(fault)
        ? stage("bad", { bits: 4, fault })
        : { ...stage("bad", { bits: 4 }), expert: 0.94 },
    ],
  });

/** What is done to the bad stage from outside, from its first phase to its end. */
function trouble(fault: string, disk: string) {
  const state = { filler: null as string | null, kills: Promise.resolve(), killed: 0 };
  let running = "";
  const killAmong = async (trial_id: string) => {
    const before = (await answers(disk)).length;
    while (running === trial_id) {
      const kept = (await answers(disk)).length;
      if (kept > before) {
        state.killed += kept - before;
        return await killWorkers();
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  const onEvent = (event: StudyEvent) => {
    if (event.event === "record" && event.record.type === "trial_closed") {
      running = "";
      if (state.filler !== null) rmSync(state.filler);
      state.filler = null;
    }
    if (event.event !== "phase") return;
    running = event.trial_id;
    if (!running.endsWith("t02")) return;
    if (fault === "full disk") state.filler ??= fill(disk);
    if (fault === "benchmark that dies" && event.rung) {
      state.kills = state.kills.then(() => killAmong(event.trial_id));
    }
  };
  return { state, onEvent };
}

/** That the ledger tells the fault, and that what it ships is the good stage's. */
async function held(fault: string, records: readonly JournalRecord[], disk: string) {
  const ledger = replayStudy(records, "faults")!.stage_decisions;
  const of = (name: string) => ledger.filter((row) => row.stage === name && row.attempt === 1);
  const failed = of("bad").filter(({ decision }) => decision === "failed");
  const told = failed.map(({ reason }) => reason).join("; ");
  const attempt = (name: string) => of(name).find(({ about }) => about === "attempt")?.decision;
  assert.equal(attempt("good"), "advance");
  assert.match(told, SAID[fault]!);
  assert.ok(!told.includes("\n"), "a row of the ledger is a line");
  assert.equal(attempt("bad"), "skip");
  assert.ok(of("bad").every(({ about }) => about !== "core"), "no mean of what is left");
  const ship = ledger.find(({ decision }) => decision === "ship")!;
  assert.equal(ship.stage, "good");
  const written = records.findLast((one) =>
    one.type === "artifact_written" && one.artifact.artifact_id === ship.to_artifact
  );
  assert.ok(written?.type === "artifact_written");
  assert.equal(artifactId(written.artifact.files), ship.to_artifact);
  using store = await openArtifactStore(join(disk, "artifacts"));
  const kept = await store.get(written.artifact.artifact_id);
  assert.ok(kept !== null);
  assert.deepEqual(await store.verifyChecksums(kept), []);
}

async function hit(fault: string, folder: string): Promise<void> {
  await using disk = await mountDisk("400m", folderIn(folder, "disk"));
  const task = await writeTask(folder);
  const { state, onEvent } = trouble(fault, disk.path);
  await withVariables({ PARE_HOME: disk.path }, async () => {
    await using lab = await openLab({ store: join(folder, "store") });
    const study = await lab.open(requestOf(fault, task) as never, "faults"); // it checks what it is given
    const signal = new AbortController().signal;
    const result = await study.run({ ask: silentAsk(), signal, onEvent });
    await state.kills;
    assert.equal(result.stop, "staged", result.message);
    assert.equal(state.killed > 0, fault === "benchmark that dies", "it dies among its answers");
    await held(fault, await (await lab.store.current())!.journalOf("faults"), disk.path);
  });
}

export const stagedFaults: RunFaults = {
  name: "a staged run",
  lacks: lacksSmallDisk,
  points: Object.keys(SAID),
  open: () => Promise.resolve(hit),
};
