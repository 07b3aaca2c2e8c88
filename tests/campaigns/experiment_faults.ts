import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answeringServer, type Fault } from "../fixtures/answering_server.ts";
import { runPare } from "../fixtures/programs.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const TASK = fileURLToPath(new URL("../fixtures/generated_words.ts", import.meta.url));

/** Faults of every request, by the model's name; `once` fails the fourth request alone. */
const FAULTS: readonly Fault[] = ["slow", "garbage", "cut", "refused", "moved"];

const CONFIG = `
name: Words and choices
datasets:
  - { type: generated_words, limit: 4, section: analysis }
  - { type: everyday_choice, limit: 4, weight: 3 }
`;

const member = (id: string) => `      - { id: ${id}, llm_model: ${id} }\n`;

async function documents(folder: string, base_url: string): Promise<string> {
  await writeFile(join(folder, "own.yaml"), CONFIG);
  await writeFile(join(folder, "words.yaml"), CONFIG.replace(/.*everyday_choice.*\n/, ""));
  const file = join(folder, "faults.yaml");
  await writeFile(
    file,
    `
plugins: [${TASK}]
defaults:
  ${JSON.stringify({ eval_config: "words.yaml", endpoint: base_url, key_variable: "OWN_KEY" })}
experiments:
  - name: faults
    defaults: { timeout_seconds: 0.5, patience_seconds: 0.2 }
    configs:
${
      FAULTS.map(member).join("")
    }      - { id: once, llm_model: once, eval_config: own.yaml, patience_seconds: 20, timeout_seconds: 20 }
`,
  );
  return file;
}

interface Summed {
  config_id: string;
  success: boolean;
  reason: string | null;
  results: { overall_score: number; dataset_scores: Record<string, number> } | null;
  evidence: { overall_score: { n: number } } | null;
  left_out: { dataset: string; reason: string }[];
}

Deno.test("each fault of a server is one sentence of its member, and the others are asked", async () => {
  await shareDefaultEnvironment();
  const home = temporaryFolder("experiment-faults");
  const out = join(home, "results");
  let busy = 0;
  await using server = answeringServer({
    fault: ({ model, prompt }) => {
      if (model !== "once") return FAULTS.find((one) => one === model) ?? null;
      return prompt.includes("?") && busy++ === 1 ? "busy" : null;
    },
  });
  const file = await documents(home, server.base_url);
  const env = { PARE_HOME: home, OWN_KEY: "sk-faults-0123456789", NO_COLOR: "1" };
  const { exitCode, stderr } = await runPare(["experiments", file, "--output-dir", out], env);
  assert.equal(exitCode, 1, stderr);
  const summary: Summed[] = JSON.parse(
    await readFile(join(out, "experiment_summary.json"), "utf8"),
  );
  const of = (id: string) => summary.find(({ config_id }) => config_id === id)!;
  const said = (id: string, words: RegExp) => assert.match(`${id}: ${of(id).reason}`, words);
  said("slow", /did not answer in 0\.5 s/);
  said("garbage", /its answer is no whole JSON object: '<<not json>>'/);
  said("cut", /its answer is no whole JSON object: '\{"choices": \[\{"message"/);
  said("refused", /this model has no chat template/);
  said(
    "moved",
    /it sends .* on to .*completions\?… \(307\), where neither prompts nor a key are sent/,
  );
  assert.equal(server.asked.some(({ path }) => path.includes("elsewhere")), false);
  assert.ok(FAULTS.every((id) => of(id).results === null && !of(id).success));

  // It was busy once and answered then; it gives no log-probabilities, so its choices are left out.
  const { results, evidence, left_out } = of("once");
  assert.equal(results!.overall_score, 100);
  assert.deepEqual(Object.keys(results!.dataset_scores), ["generated_words"]);
  assert.equal(evidence!.overall_score.n, 4);
  assert.equal(left_out[0]!.dataset, "everyday_choice");
  assert.match(left_out[0]!.reason, /Cannot take log-probabilities from .* no \/completions/);
  const once = server.asked.filter(({ model, prompt }) => model === "once" && prompt.includes("?"));
  assert.equal(once.length, 5, "four samples, one of them asked again after 429");
});
