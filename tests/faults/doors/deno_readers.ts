/**
 * Reads damaged files with the readers of TypeScript, one a line of standard input: `{door, path}`. A
 * sentence is a `UsageError`: anything else is what a user would be shown a stack of.
 */
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import process from "node:process";
import { UsageError } from "../../../core/errors.ts";
import { licenseOf } from "../../../tracker/artifacts/model_license.ts";
import { diagnoseCommand } from "../../../tracker/commands/serve/diagnose.ts";
import { readRecorded } from "../../../tracker/commands/exchange/reproduce.ts";
import { experimentsRequest } from "../../../tracker/commands/experiments/prepare_members.ts";
import { configuredEvaluation } from "../../../tracker/commands/input/configured_evaluation.ts";
import { readDocument } from "../../../tracker/commands/input/read_document.ts";
import { lmEvalRuns } from "../../../tracker/exchange/imports/lm_eval.ts";
import { optunaRuns } from "../../../tracker/exchange/imports/optuna.ts";
import { databaseRuns } from "../../../tracker/exchange/mlflow/imports/import_database.ts";
import { folderRuns } from "../../../tracker/exchange/mlflow/imports/import_folder.ts";
import { readEngines } from "../../../tracker/jobs/engines/engines_file.ts";
import { checkStudy } from "../../../tracker/lab/check_study.ts";
import { inspectDataset } from "../../../tracker/lab/data/inspect_dataset.ts";
import { readGold } from "../../../tracker/lab/judging/labels.ts";
import { readRubric } from "../../../tracker/lab/judging/rubrics.ts";
import { readStages } from "../../../tracker/lab/read_document.ts";
import { readRules } from "../../../tracker/lab/search/strategy_rules.ts";
import { plannedModel } from "../../../tracker/lab/serving/planned_model.ts";
import { readAnswer, readCard } from "./stranger_agent.ts";
import { readProfiles } from "../../../tracker/show/weight_profiles.ts";

const TASKS = ["gsm8k", "mmlu", "bizfinbench", "synthetic", "options", "prbench", "gdpval"];

const READERS: Readonly<Record<string, (path: string) => unknown>> = {
  study: (path) => checkStudy(readDocument(path), "study"),
  stages: readStages,
  engines: readEngines,
  rubric: readRubric,
  labels: (path) => readGold(path, [0, 1]),
  rules: (path) =>
    checkStudy({ model_name: "tiny", dataset: "tiny", rules: readRules(path) as never }, "study"),
  profiles: readProfiles,
  evaluation: (path) => configuredEvaluation(path, TASKS),
  scenario: (path) => configuredEvaluation(path, TASKS),
  experiments: (path) =>
    experimentsRequest(path, { all: true }, {
      store: join(dirname(path), "store"),
      env: { KEY: "k" },
    }),
  dataset: inspectDataset,
  dataset_gz: inspectDataset,
  lm_eval: (path) => Array.fromAsync(lmEvalRuns(path)),
  lm_eval_samples: (path) => Array.fromAsync(lmEvalRuns(path)),
  optuna: (path) => [...optunaRuns(path)],
  mlflow: (path) => [...databaseRuns(path, undefined)],
  mlflow_folder: (path) => [...folderRuns(path, undefined)],
  recorded: readRecorded,
  model_card: licenseOf,
  plan: (path) => plannedModel(path, { env: {} }),
  server_log: (path) => diagnoseCommand(path),
  agent_card: readCard,
  agent_answer: readAnswer,
};

async function ended(door: string, path: string): Promise<{ ended: string; said: string }> {
  try {
    await READERS[door]!(path);
    return { ended: "result", said: "" };
  } catch (error) {
    if (error instanceof UsageError) return { ended: "sentence", said: error.message };
    return {
      ended: "fault",
      said: error instanceof Error ? error.stack ?? error.message : String(error),
    };
  }
}

// What a reader prints is no answer.
const answers = Deno.stdout.writable.getWriter();
console.log = () => {};
const say = (line: unknown) => answers.write(new TextEncoder().encode(`${line}\n`));
process.on("warning", () => {});
await say("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const { door, path } = JSON.parse(line);
  // A reader of lines takes these two for ends of a line.
  const answer = JSON.stringify(await ended(door, path));
  await say(answer.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029"));
}
