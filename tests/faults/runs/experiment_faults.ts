/** A server in trouble under an experiment: one sentence of its member, and the others are asked. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { answeringServer, type AskedOnce, type Fault } from "../../fixtures/answering_server.ts";
import { runPare } from "../../fixtures/programs.ts";
import type { RunFaults } from "./run_faults.ts";

const TASK = fileURLToPath(new URL("../../fixtures/generated_words.ts", import.meta.url));

/** Faults of every request, by the model's name, and what its member says. */
const SAID: Readonly<Record<Exclude<Fault, "busy">, RegExp>> = {
  slow: /did not answer in 0\.5 s/,
  garbage: /its answer is no whole JSON object: '<<not json>>'/,
  cut: /its answer is no whole JSON object: '\{"choices": \[\{"message"/,
  refused: /this model has no chat template/,
  moved: /it sends .* on to .*completions\?… \(307\), where neither prompts nor a key are sent/,
};
const FAULTS = Object.keys(SAID) as (keyof typeof SAID)[];

const CONFIG = `
name: Words and choices
datasets:
  - { type: generated_words, limit: 4, section: analysis }
  - { type: everyday_choice, limit: 4, weight: 3 }
`;

async function documents(folder: string, base_url: string, id: string): Promise<string> {
  await writeFile(join(folder, "own.yaml"), CONFIG);
  await writeFile(join(folder, "words.yaml"), CONFIG.replace(/.*everyday_choice.*\n/, ""));
  const file = join(folder, "faults.yaml");
  const [eval_config, seconds] = id === "once" ? ["own.yaml", 20] : ["words.yaml", 0.5];
  const defaults = { eval_config, endpoint: base_url, key_variable: "OWN_KEY" };
  const limits = { timeout_seconds: seconds, patience_seconds: id === "once" ? 20 : 0.2 };
  const configs = [{ id, llm_model: id }, { id: "sound", llm_model: "right-100", ...SOUND }];
  const experiments = [{ name: "faults", defaults: limits, configs }];
  await writeFile(file, JSON.stringify({ plugins: [TASK], defaults, experiments })); // YAML, too
  return file;
}

/** Of the member that nothing befalls: it has time. */
const SOUND = { eval_config: "words.yaml", timeout_seconds: 20, patience_seconds: 20 };

interface Summed {
  config_id: string;
  success: boolean;
  reason: string | null;
  results: { overall_score: number; dataset_scores: Record<string, number> } | null;
  evidence: { overall_score: { n: number } } | null;
  left_out: { dataset: string; reason: string }[];
}

/** It was busy once and answered then; it gives no log-probabilities, so its choices are left out. */
function heldOnce({ results, evidence, left_out }: Summed, asked: readonly AskedOnce[]): void {
  assert.equal(results!.overall_score, 100);
  assert.deepEqual(Object.keys(results!.dataset_scores), ["generated_words"]);
  assert.equal(evidence!.overall_score.n, 4);
  assert.equal(left_out[0]!.dataset, "everyday_choice");
  assert.match(left_out[0]!.reason, /Cannot take log-probabilities from .* no \/completions/);
  const once = asked.filter(({ model, prompt }) => model === "once" && prompt.includes("?"));
  assert.equal(once.length, 5, "four samples, one of them asked again after 429");
}

async function hit(point: string, home: string): Promise<void> {
  const out = join(home, "results");
  let busy = 0;
  await using server = answeringServer({
    fault: ({ model, prompt }) => {
      if (model !== "once") return FAULTS.find((one) => one === model) ?? null;
      return prompt.includes("?") && busy++ === 1 ? "busy" : null;
    },
  });
  const file = await documents(home, server.base_url, point);
  const env = { PARE_HOME: home, OWN_KEY: "sk-faults-0123456789", NO_COLOR: "1" };
  const { exitCode, stderr } = await runPare(["experiments", file, "--output-dir", out], env);
  assert.equal(exitCode, 1, stderr); // of the one that is hit, or whose choices are left out
  const summary: Summed[] = JSON.parse(
    await readFile(join(out, "experiment_summary.json"), "utf8"),
  );
  const of = (id: string) => summary.find(({ config_id }) => config_id === id)!;
  assert.equal(of("sound").results?.overall_score, 100, of("sound").reason ?? "");
  if (point === "once") return heldOnce(of("once"), server.asked);
  assert.match(of(point).reason ?? "", SAID[point as keyof typeof SAID]);
  assert.equal(server.asked.some(({ path }) => path.includes("elsewhere")), false);
  assert.deepEqual([of(point).results, of(point).success], [null, false]);
}

export const experimentFaults: RunFaults = {
  name: "an experiment",
  points: [...FAULTS, "once"],
  open: () => Promise.resolve(hit),
};
