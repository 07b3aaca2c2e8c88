/** Stages whose real workers go wrong in every way: one ledger tells all, and the good one is shipped. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { replayStudy, type StageDecision, stagesRequest } from "../../core/mod.ts";
import { artifactId } from "../../tracker/artifacts/artifact_files.ts";
import { openArtifactStore } from "../../tracker/artifacts/artifact_store.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { answers, killWorkers, taskFile } from "../fixtures/killed_study.ts";
import { fill, mountDisk, unlessMountable } from "../fixtures/small_disk.ts";
import { shareEnvironments, withVariables } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FAULTY = join(ROOT, "tests/fixtures/third_party/faulty/faulty.ts");
const SAMPLES = 50;

const action = (params: { bits: 4 | 8; fault?: string }) => ({
  agent: "faulty",
  method: "faulty_rounding",
  params,
});

/** A stage on the original that a failure leaves out. */
const stage = (name: string, params: { bits: 4 | 8; fault?: string }) => ({
  name,
  actions: [action(params)],
  onto: "original",
  attempts: 1,
  when_failed: "next",
});

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

Deno.test({
  name:
    "crash, hang, NaN, the parent again, a full disk, a benchmark that dies: the good stage ships",
  ignore: await unlessMountable(),
  async fn() {
    await shareEnvironments("default", "openvino_export");
    await using disk = await mountDisk("400m");
    const folder = temporaryFolder("staged-faults");
    const task = await writeTask(folder);
    const request = stagesRequest({
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
        stage("crash", { bits: 4, fault: "crash" }),
        stage("hang", { bits: 4, fault: "hang" }),
        stage("nan", { bits: 4, fault: "nan" }),
        stage("parent", { bits: 4, fault: "parent" }),
        { ...stage("full", { bits: 4 }), expert: 0.94 },
        { ...stage("half", { bits: 4 }), expert: 0.93 },
      ],
    });
    const full = 6; // number of that stage's trial
    const half = 7;
    let filler: string | null = null;
    let kills: Promise<unknown> = Promise.resolve();
    let running = "";
    const killed: number[] = [];
    const killAmong = async (trial_id: string) => {
      const before = (await answers(disk.path)).length;
      while (running === trial_id) {
        const kept = (await answers(disk.path)).length;
        if (kept > before) {
          killed.push(kept - before);
          return await killWorkers();
        }
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    };
    await withVariables({ PARE_HOME: disk.path }, async () => {
      await using lab = await openLab({ store: join(folder, "store") });
      const study = await lab.open(request as never, "faults"); // it checks what it is given
      const result = await study.run({
        ask: silentAsk(),
        signal: new AbortController().signal,
        onEvent(event) {
          if (event.event === "record" && event.record.type === "trial_closed") running = "";
          if (event.event !== "phase") return;
          const number = Number(event.trial_id.slice(-2));
          running = event.trial_id;
          if (number === full && filler === null) filler = fill(disk.path);
          if (number === half && filler !== null) {
            rmSync(filler);
            filler = null;
          }
          if (number === half && event.rung) kills = kills.then(() => killAmong(event.trial_id));
        },
      });
      await kills;
      const records = await (await lab.store.current())!.journalOf("faults");
      const ledger = replayStudy(records, "faults")!.stage_decisions;
      const of = (name: string) => ledger.filter((row) => row.stage === name && row.attempt === 1);
      const told = (name: string) =>
        of(name).filter(({ decision }) => decision === "failed").map(({ reason }) => reason)
          .join("; ");
      console.log(
        ledger.map((row) => `${row.stage} ${row.about} ${row.decision}: ${row.reason}`)
          .join("\n"),
      );
      assert.equal(attemptOf(of("good")), "advance", told("good"));
      const patterns: Record<string, RegExp> = {
        crash: /^crash: .*SIGSEGV/,
        hang: /^stall: /,
        nan: /^not_a_number: /,
        // The original came as 32-bit floats: as 16-bit ones its bytes are others, and more than what stands.
        parent: /holds the weights of its parent|more than its parent's/,
        full: /^disk_full: .*no space/i,
        half: /^crash: .*SIGKILL/,
      };
      for (const [name, pattern] of Object.entries(patterns)) {
        assert.match(told(name), pattern);
        assert.ok(!told(name).includes("\n"), `${name}: a row of the ledger is a line`);
        assert.equal(attemptOf(of(name)), "skip", name);
        assert.ok(
          of(name).every(({ about }) => about !== "core"),
          `${name}: no mean of what is left`,
        );
      }
      assert.ok(killed.length > 0, "the benchmark was to die among its answers");
      const ship = ledger.find(({ decision }) => decision === "ship")!;
      assert.equal(ship.stage, "good");
      assert.equal(result.stop, "staged", result.message);
      const written = records.findLast((one) =>
        one.type === "artifact_written" && one.artifact.artifact_id === ship.to_artifact
      );
      assert.ok(written?.type === "artifact_written");
      const store = await openArtifactStore(join(disk.path, "artifacts"));
      const kept = await store.get(written.artifact.artifact_id);
      assert.ok(kept !== null);
      assert.deepEqual(await store.verifyChecksums(kept), []);
      assert.equal(artifactId(written.artifact.files), ship.to_artifact);
    });
  },
});

function attemptOf(rows: readonly StageDecision[]): string | undefined {
  return rows.find(({ about }) => about === "attempt")?.decision;
}
