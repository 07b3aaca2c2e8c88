import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import tinyWords from "../../../plugins/evaluation/texts/tiny_words.ts";
import { Endpoint, protocolMismatch, type WireTask } from "../../../core/mod.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { pinsHash } from "../../../python-backends/environments/environment_pins.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { evaluateArtifact } from "../../../tracker/lab/runner/evaluate_artifact.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { bareStudy, quietRunner } from "../../fixtures/bare_study.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { adoptTinyModel, must } from "../../tiny_model.ts";
import { wiredTask } from "../../fixtures/wired_task.ts";

const TASK = wiredTask(tinyWords, fileURLToPath(tinyWords.data_file!));
const ROWS = Array.from({ length: 20 }, (_, i) => i);
const REUSED = /(\d+) of (\d+) requests answered by an earlier evaluation/;

/** Another question about the same rows. */
const ASKED_OTHERWISE: WireTask = {
  ...TASK,
  task_version: "2",
  definition: { ...TASK.definition, doc_to_text: "so : {{prompt}}" },
};

Deno.test("a baseline is evaluated once for two studies, and not where the template differs", () =>
  inDirectory(async (folder) => {
    const client = createBackendClient({ home: folder });
    await using store = await openStore(join(folder, "store"), { write: true });
    using artifacts = await openArtifactStore(join(folder, "artifacts"));
    try {
      const timestamp = () => new Date().toISOString();
      const workshop = {
        home: findHome({ PARE_HOME: folder }),
        registry: await discoverPlugins(),
        client,
        artifacts,
        caches: openFolderCache(join(folder, "cache")),
        store,
        environmentHash: (name: string) => Promise.resolve(pinsHash(name)),
        timestamp,
        maxDiskBytes: null,
      };
      const artifact = await adoptTinyModel(artifacts, client);
      const studyOf = (study_id: string, task: WireTask) =>
        bareStudy({
          study_id,
          spec: {} as never, // an evaluation asks it how it scores, and none of the others
          tasks: [task],
          rungs: [{ fidelity: "full", selections: [{ task: task.task, rows: ROWS }] }],
        });
      const baselineOf = async (study_id: string, task: WireTask, changed = {}) => {
        const runner = quietRunner(client, study_id, store);
        const study = studyOf(study_id, task);
        const trial_id = `${study_id}/t00`;
        return must(
          await evaluateArtifact({
            workshop: { ...workshop, ...changed },
            study,
            runner,
            trial_id,
            artifact,
            fidelity: "full",
          }),
        );
      };
      const scoresOf = ({ samples }: Awaited<ReturnType<typeof baselineOf>>) =>
        samples.map(({ score, log_likelihood }) => [score, log_likelihood]);
      const first = await baselineOf("one", TASK);
      assert.doesNotMatch(first.measurements[0]!.method!, REUSED);
      const second = await baselineOf("two", TASK);
      const [, reused, asked] = REUSED.exec(second.measurements[0]!.method!) ?? [];
      assert.equal(reused, asked, "every answer is the first study's");
      assert.equal(Number(asked), ROWS.length);
      assert.deepEqual(scoresOf(second), scoresOf(first));
      assert.equal(protocolMismatch(first, second), null);
      const environmentHash = () => Promise.resolve("other pins");
      const anew = await baselineOf("later", TASK, { environmentHash });
      assert.match(
        anew.measurements[0]!.method!,
        /; asked anew, as an environment's packages changed since answers of it were kept$/,
      );
      const other = await baselineOf("three", ASKED_OTHERWISE);
      assert.doesNotMatch(other.measurements[0]!.method!, REUSED);
      const words = protocolMismatch(first, other)!;
      for (const part of ["task_version is 1 in the baseline and 2 in the trial", "template is "]) {
        assert.ok(words.includes(part), words);
      }
      assert.ok(!words.includes("samples is"), "the rows are the same");

      // A server may have other weights by the same name when another study asks.
      const asked_in: (string | null)[] = [];
      const runner: CallRunner = (_trial, request) => {
        if (request.call === "evaluate") asked_in.push(request.answers_path);
        const failure = { kind: "endpoint" as const, message: "", hint: null, phase: null };
        return Promise.resolve({ ok: false, failure, spans: [] });
      };
      const endpoint = Endpoint.parse({ base_url: "http://127.0.0.1:9/v1" });
      for (const study_id of ["four", "four", "five"]) {
        const study = {
          ...studyOf(study_id, TASK),
          asks: { endpoint, chat_template: false },
        };
        const own = { trial_id: `${study_id}/t00`, artifact, fidelity: "full" as const };
        await evaluateArtifact({ workshop, study, runner, ...own });
      }
      const [begun, resumed, later] = asked_in;
      assert.equal(resumed, begun, "a study goes on with what it was answered");
      assert.notEqual(later, begun);
    } finally {
      await client.close();
    }
  }));
