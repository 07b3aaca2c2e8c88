import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  kindOf,
  objectivesSentence,
  ratioOf,
  type StudyRequestInput,
  type StudyResult,
  type Trial,
  trialName,
  UsageError,
} from "../../../core/mod.ts";
import { parseJson, withoutMark } from "../../lab/data/parse_json.ts";
import { type Lab, openLab } from "../../session/lab.ts";
import { withoutCredentials } from "../../exchange/mlflow/client/connection.ts";
import { writeStudyReport } from "../../exchange/publish/write_report.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import type { StudySession } from "../../session/study_session.ts";
import { ownOf } from "../../show/kinds/own_of.ts";
import { chooseAsk } from "../../show/terminal/ask.ts";
import { createLiveView, standardScreen } from "../../show/terminal/live_view.ts";
import { trialTable } from "../../show/terminal/trial_table.ts";
import { bytes, duration } from "../../show/view/number_text.ts";
import { limitsText } from "../../show/view/limits_text.ts";
import { followProgress, progressText } from "../../show/view/study_progress.ts";
import { recommendedSize } from "../../show/view/size_words.ts";
import { recipeText, trialRows } from "../../show/view/trial_rows.ts";
import { unsafeSentence } from "../../show/view/unsafe_code.ts";
import type { StudyEvent } from "../../../core/mod.ts";
import { evaluationText, modelLine } from "./evaluation_output.ts";
import { parseBytes } from "../../ground/terminal/parse_values.ts";
import { limitsFromOptions, studyFromOptions } from "../input/study_document.ts";
import { jsonText } from "../../show/json/print_json.ts";
import { studyCard } from "../output/study_card.ts";
import type { RunOptions } from "./study_options.ts";

/** Options of the commands that run a study. */
export interface StudyCommandOptions extends RunOptions {
  store?: string;
  yes?: boolean;
  maxDisk?: string;
  output?: string;
  mlflow?: string;
  json?: boolean;
}

/** The study of the README: what a newcomer sees first. */
const DEMO: StudyRequestInput = {
  model_name: "demo",
  dataset: "demo",
  max_trials: 5,
  budget_seconds: 600,
};

async function readDocument(file: string | undefined): Promise<Partial<StudyRequestInput>> {
  if (file === undefined) return {};
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot read the study ${file}: ${reason}`);
  }
  let document: unknown;
  try {
    document = parseJson(withoutMark(text));
  } catch (error) {
    // The parser quotes the text, which may be anything: one line, and what can be read.
    const reason = String(error instanceof Error ? error.message : error)
      .replace(/[^\x20-\x7e]+/g, " ").slice(0, 160);
    throw new UsageError(`Cannot read the study ${file} as JSON: ${reason}`);
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw new UsageError(
      `Cannot take the study ${file}: it must be an object with model_name and dataset`,
    );
  }
  return document as Partial<StudyRequestInput>; // checked by checkStudy
}

function commandLine(): string {
  const words = Deno.args.map((word) =>
    /^[\w./:=,@%+-]+$/.test(word) ? word : JSON.stringify(word)
  );
  return withoutCredentials(`npx -y deno task pare ${words.join(" ")}`); // it is recorded
}

/** Ctrl-C ends the study cleanly; a second one ends the process. */
function interruptible(say: (text: string) => void, begun: () => boolean): AbortController {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) Deno.exit(130);
    const what = begun() ? "the running trial is recorded as cancelled" : "the set-up ends";
    say(`stopping: ${what}; once more to leave at once`);
    controller.abort();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  return controller;
}

/** A trial's time per token beside what the baseline took in the same minutes. */
function latencySaid({ measurements, strategy }: Trial, ms: number): string {
  const runtime = measurements.find(({ metric }) => metric === "latency_ms")?.runtime ?? "";
  const ratio = strategy === null ? null : ratioOf(measurements, "latency_ratio", runtime);
  const beside = ratio === null ? "" : `, ${ratio.value.toFixed(2)} of the baseline beside it`;
  return `${ms.toFixed(1)} ms/token${beside}`;
}

/** Says each trial as it ends, in one line. */
function announce(say: (text: string) => void, event: StudyEvent): void {
  if (event.event !== "record") return;
  const { record } = event;
  if (record.type === "study_opened") {
    // What was found broken only when the data were read stands here, and nowhere before.
    for (const { task, reason } of record.spec.missing_tasks) {
      say(`not measured: ${task}: ${reason}`);
    }
  }
  if (record.type === "alert") say(`  ! ${record.condition}: ${record.evidence}`);
  if (record.type !== "trial_closed") return;
  const { trial } = record;
  const seconds = trial.finished_at === null
    ? 0
    : (Date.parse(trial.finished_at) - Date.parse(trial.started_at)) / 1000;
  const view = { front: [], probabilities: {}, artifacts: new Map() };
  const [row] = trialRows([{ ...trial, latency: null }], view);
  const { latency_ms } = row ?? { latency_ms: null };
  const figures = row === undefined || (latency_ms === null && trial.state !== "completed")
    ? trial.failure?.message ?? trial.gates.find((gate) => gate.decision !== "pass")?.reason ?? ""
    : [
      row.accuracy === null ? "" : `accuracy ${row.accuracy.value.toFixed(3)}`,
      row.perplexity === null ? "" : `perplexity ${row.perplexity.value.toFixed(1)}`,
      latency_ms === null || row.latency_emulated ? "" : latencySaid(trial, latency_ms.value),
      row.size_bytes === null ? "" : bytes(row.size_bytes),
    ].filter((text) => text !== "").join(", ");
  const name = trialName(trial.number);
  say(`${name}  ${recipeText(trial)}: ${trial.state}, ${figures} (${duration(seconds)})`);
}

function introduce(session: StudySession, say: (text: string) => void): void {
  const { spec } = session;
  say(`study ${session.study_id}`);
  const { rows } = kindOf(session.request).shown;
  if (rows === "scores") {
    say(`${modelLine(session)}; tasks ${spec.tasks.map((t) => t.task).join(", ")}`);
  } else introduceSearch(session, say);
  for (const warning of spec.warnings) say(`note: ${warning}`);
}

function introduceSearch(
  { facts, spec, request }: StudySession,
  say: (text: string) => void,
): void {
  say(
    `model ${facts.model.model_name}: ${(facts.model.parameters / 1e6).toFixed(1)} M parameters, ` +
      `${bytes(facts.model.fp16_bytes)} at 16 bits`,
  );
  say(
    `tasks ${spec.tasks.map((t) => t.task).join(", ")}; runtime ${spec.runtime}; accuracy may ` +
      `drop ${spec.constraints.max_accuracy_drop}`,
  );
  const limits = limitsText(request);
  if (limits !== null) say(`limits: ${limits}`);
  const note = objectivesSentence({ spec, without: [] });
  if (note !== null) say(`note: ${note}`);
}

async function conclude(
  lab: Lab,
  session: StudySession,
  result: StudyResult,
  { output, json }: StudyCommandOptions,
): Promise<void> {
  const view = await session.view();
  const folder = resolve(output ?? join(lab.home.studies, session.study_id));
  const store = (await lab.store.current())!; // the study was recorded there
  const files = await writeStudyReport({ store, root: lab.home.root }, view, folder);
  if (json) return console.log(jsonText("study", studyCard(view, files)));
  const unsafe = unsafeSentence(view);
  if (unsafe !== null) console.log(`\n${unsafe}`);
  if (kindOf(view.request).shown.rows === "scores") {
    console.log(`\n${evaluationText(view, result.message)}`);
    console.log(`Report          ${files.html}\nResults (JSON)  ${files.results}`);
    return;
  }
  const own = ownOf(view.request).ended(view, folder);
  if (own !== null) console.log(`\n${own}`);
  if (view.front_note !== null) console.log(`\n${view.front_note}`);
  console.log(`\n${trialTable(view)}\n`);
  console.log(`Ended: ${result.message}`);
  const size = recommendedSize(view);
  if (size !== null) console.log(`  ${size}`);
  for (const reason of view.reasons) console.log(`  ${reason}`);
  console.log("\nTime by phase:");
  for (const { name, seconds } of view.phases.slice(0, 12)) {
    console.log(`  ${name.padEnd(22)} ${duration(seconds)}`);
  }
  console.log(`\nPareto plot     ${files.png}`);
  console.log(`Report          ${files.html}`);
  console.log(`                ${files.markdown}`);
  console.log(`Results (JSON)  ${files.results}`);
  if (files.checkpoint === null) {
    const measured = view.trials.some((one) => one.strategy === null && one.state === "completed");
    if (!measured) return;
    return console.log("\nNo trial is recommended: keep the original.");
  }
  console.log(`Checkpoint      ${files.checkpoint}`);
  console.log(`\n${files.loader}\n`);
}

/** Waits for the mirror's last records and the report, and says where it stands. */
async function sayMirrored(lab: Lab, { output, json }: StudyCommandOptions): Promise<void> {
  const say = json ? console.error : console.log;
  const { mirror } = lab.mlflow;
  if (mirror === null) return;
  const { trouble, said, behind } = await mirror.finish(20_000);
  say(
    behind
      ? `MLflow is behind (${
        trouble ?? "it is slow"
      }): npx -y deno task pare mlflow sync mirrors the rest`
      : `MLflow          ${mirror.shown}`,
  );
  if (said > 0) {
    say(
      `                ${said} ${said === 1 ? "thing" : "things"} not as recorded, said above`,
    );
  }
  if (output !== undefined) {
    say(`                without the report, which is in ${output}`);
  }
}

/** Trials were run, and not one of them came to an end of its own. */
function onlyFailed({ trials }: StudyResult): boolean {
  const tried = trials.filter(({ strategy }) => strategy !== null);
  return tried.length > 0 && tried.every(({ state }) => state === "failed" || state === "invalid");
}

type Opening = (lab: Lab) => Promise<StudySession>;

/** Opens a study and runs it: what it says, asks and leaves are those of every command. */
export async function runStudyCommand(options: StudyCommandOptions, open: Opening) {
  if (options.output !== undefined) outsideStores(options.output, "write the report to");
  const screen = createLiveView(standardScreen(), () => Date.now());
  let begun = false;
  const controller = interruptible(screen.say, () => begun);
  const onEvent = (event: StudyEvent) => {
    screen.onEvent(event);
    announce(screen.say, event);
  };
  const maxDisk = options.maxDisk;
  await using lab = await openLab({
    command: commandLine(),
    write: true,
    signal: controller.signal,
    onSetup: (line) => screen.progressLine(line),
    onEvent,
    onMirror: (sentence) => screen.say(sentence),
    ...(options.store === undefined ? {} : { store: options.store }),
    ...(options.mlflow === undefined ? {} : { mlflow: options.mlflow }),
    ...(maxDisk === undefined ? {} : { maxDiskBytes: parseBytes(maxDisk, "--max-disk") }),
  });
  const session = await open(lab);
  begun = true;
  introduce(session, screen.say);
  const before = await (await lab.store.current())?.journalOf(session.study_id) ?? [];
  const follow = followProgress(session.request, () => Date.now(), before);
  if (lab.mlflow.note !== null) screen.say(`note: ${lab.mlflow.note}`);
  const ask = chooseAsk((options.yes ?? false) || options.json === true);
  const result = await session.run({
    ask,
    signal: controller.signal,
    onEvent: (event) => {
      onEvent(event);
      follow.onEvent(event);
      const begins = event.event === "record" && event.record.type === "trial_opened";
      if (begins) screen.say(progressText(follow.progress()));
    },
  });
  screen.finish();
  await conclude(lab, session, result, options);
  await sayMirrored(lab, options);
  if (result.stop === "failed" || onlyFailed(result)) Deno.exitCode = 1;
  if (result.stop === "cancelled") Deno.exitCode = 130;
}

/** `pare run`: a study from options, a document, or both. */
export async function runCommand(file: string | undefined, options: StudyCommandOptions) {
  const request = studyFromOptions(options, await readDocument(file));
  await runStudyCommand(options, (lab) => lab.open(request));
}

/** `pare demo`: the README's study. */
export async function demoCommand(options: StudyCommandOptions) {
  const request = studyFromOptions({}, DEMO);
  await runStudyCommand({ ...options, yes: true }, (lab) => lab.open(request));
}

/** `pare resume`: goes on where a study stopped; finished trials are not run again. */
export async function resumeCommand(study: string | undefined, options: StudyCommandOptions) {
  const limits = limitsFromOptions(options);
  await runStudyCommand(options, (lab) => lab.resume(study, limits));
}
