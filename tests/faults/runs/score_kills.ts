/** A judge that scores kept answers is asked for each verdict once, whatever kills the scoring. */
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Endpoint } from "../../../core/mod.ts";
import { openLab } from "../../../tracker/mod.ts";
import { runFolder } from "../../../tracker/store/store_paths.ts";
import { killWhen } from "../../fixtures/killed_study.ts";
import { folderIn, numberIn, type RunFaults } from "./run_faults.ts";

const THIRD_PARTY = new URL("../../fixtures/third_party/shared_words/", import.meta.url);
const plugin = (name: string) => fileURLToPath(new URL(name, THIRD_PARTY));

/** Verdicts of a scoring that is under way. */
async function verdictsKept(samples: string): Promise<number> {
  const [name] = (await readdir(samples)).filter((one) => one.startsWith("scoring-"));
  if (name === undefined) return 0;
  return (await readFile(join(samples, name), "utf8")).split("\n").length - 1;
}

/** A judge that takes its time; `asked` has every question about an answer that it was sent. */
function slowJudge() {
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (one) => {
    const { prompt = "" } = await one.json().catch(() => ({}));
    const question = /(True|Helpful):$/.test(prompt);
    if (question) asked.push(prompt);
    if (question) await new Promise((resolve) => setTimeout(resolve, 100));
    const usage = { prompt_tokens: 9, completion_tokens: 1 };
    return Response.json({ choices: [{ text: " yes", finish_reason: "stop" }], usage });
  });
  return { asked, server };
}

const SCORED = { task: "own_words", scorer: "truthfulqa_judge", params: { question: "prompt" } };

export const scoreKills: RunFaults = {
  name: "a scoring by a judge",
  points: [1, 3, 5, 7, 9, 11].map((verdicts) => `kill -9 at verdict ${verdicts}`),
  async open(folder) {
    const home = folderIn(folder, "home");
    const plugins = ["own_words.ts", "shared_words.ts"].map(plugin);
    const request = { model_name: "tiny", dataset: "own_words", evaluation: {}, plugins };
    let study_id: string;
    {
      await using lab = await openLab({ fresh: home, notebook: false });
      const study = await lab.open(request);
      await study.run();
      study_id = study.study_id;
    }
    return async (point, place) => {
      cpSync(home, place, { recursive: true });
      const samples = join(place, "store", runFolder(study_id), "samples");
      const kept = () => verdictsKept(samples);
      const judge = slowJudge();
      await using _server = judge.server;
      const url = `http://127.0.0.1:${judge.server.addr.port}/v1`;
      const words = [
        ...["score", "--task", SCORED.task, "--scorer", SCORED.scorer],
        ...["--param", "question=prompt", "--judge-endpoint", url, "--judge-model", "a-judge"],
      ];
      const due = numberIn(point);
      await killWhen(place, words, async () => await kept() >= due);
      const survived = await kept();

      await using lab = await openLab({ fresh: place, notebook: false });
      const asked = { ...SCORED, judge: Endpoint.parse({ base_url: url, model: "a-judge" }) };
      judge.asked.length = 0;
      const [scored] = await lab.score(study_id, asked);
      const questions = 2 * scored!.now.n;
      assert.ok(survived >= due && survived < questions, `killed at ${survived} of ${questions}`);
      assert.equal(judge.asked.length, questions - survived, "a verdict is asked for twice");
      assert.equal(await kept(), 0, "what is recorded is kept in the store alone");

      judge.asked.length = 0;
      await lab.score(study_id, asked);
      assert.equal(judge.asked.length, questions, "a judge that is asked again judges anew");
    };
  },
};
