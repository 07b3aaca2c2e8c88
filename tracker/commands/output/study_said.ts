import { dirname } from "node:path";
import {
  besideOriginal,
  kindOf,
  objectivesSentence,
  ratioOf,
  ratioSides,
  type StudyEvent,
  type Trial,
  trialName,
} from "../../../core/mod.ts";
import type { RunningMirror } from "../../exchange/mlflow/start_mirror.ts";
import type { StudySession } from "../../session/study_session.ts";
import { scoreText } from "../../show/evaluation/shown.ts";
import { ownOf } from "../../show/kinds/own_of.ts";
import { constraintsLine } from "../../show/reports/answer_blocks.ts";
import type { StudyOutputs } from "../../show/reports_of_study.ts";
import { trialTable } from "../../show/terminal/trial_table.ts";
import { limitsText } from "../../show/view/limits_text.ts";
import { bytes, duration } from "../../show/view/number_text.ts";
import { contextSentences } from "../../show/caches/cache_words.ts";
import { deploymentLines, deploymentSentence, sidesSentence } from "../../show/view/deployment.ts";
import { readSentence, recommendedSize } from "../../show/view/size_words.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { recipeText, type TrialRow, trialRows } from "../../show/view/trial_rows.ts";
import { unsafeSentence } from "../../show/view/unsafe_code.ts";
import { evaluationText, modelLine } from "../study/evaluation_output.ts";

/** A trial's time per token beside what the baseline took in the same minutes. */
function latencySaid({ measurements, strategy }: Trial, ms: number): string {
  const runtime = measurements.find(({ metric }) => metric === "latency_ms")?.runtime ?? "";
  const ratio = strategy === null ? null : ratioOf(measurements, "latency_ratio", runtime);
  const beside = ratio === null
    ? ""
    : `, ${besideOriginal(ratio.value.toFixed(2), ratioSides(measurements, runtime))}`;
  return `${ms.toFixed(1)} ms/token${beside}`;
}

/** What it takes: where a context's cache was counted that is told first, and the weights as such. */
function sizeSaid({ size_bytes, figures }: TrialRow): string {
  const cache = figures["context_kv_bytes"]?.value;
  if (size_bytes === null) return "";
  return cache === undefined
    ? bytes(size_bytes)
    : `KV cache of a context ${bytes(cache)}, weights ${bytes(size_bytes)}`;
}

/** Says each trial as it ends, in one line. */
export function announce(say: (text: string) => void, event: StudyEvent): void {
  if (event.event !== "record") return;
  const { record } = event;
  if (record.type === "study_opened") {
    // What was found broken only when the data were read stands here, and nowhere before.
    for (const { task, reason } of record.spec.missing_tasks) {
      say(`not measured: ${task}: ${reason}`);
    }
  }
  if (record.type === "alert") say(`  ! ${record.condition}: ${record.evidence}`);
  if (record.type === "member_ended") {
    const { experiment, config_id, success, scores } = record.member;
    const score = scores === null ? "" : `, ${scoreText(scores.overall)} n ${scores.overall.n}`;
    if (success) say(`${experiment}.${config_id}: done${score}`);
  }
  if (record.type !== "trial_closed") return;
  const { trial } = record;
  // Its own work: a trial may have waited for others, or be timed again after hours.
  const seconds = trial.spans.reduce((sum, span) => sum + span.seconds, 0);
  const view = { front: [], probabilities: {}, artifacts: new Map() };
  const [row] = trialRows([{ ...trial, latency: null }], view);
  const { latency_ms } = row ?? { latency_ms: null };
  const figures = row === undefined || (latency_ms === null && trial.state !== "completed")
    ? trial.failure?.message ?? trial.gates.find((gate) => gate.decision !== "pass")?.reason ?? ""
    : [
      row.accuracy === null ? "" : `accuracy ${row.accuracy.value.toFixed(3)}`,
      row.perplexity === null ? "" : `perplexity ${row.perplexity.value.toFixed(1)}`,
      latency_ms === null || row.latency_emulated ? "" : latencySaid(trial, latency_ms.value),
      sizeSaid(row),
    ].filter((text) => text !== "").join(", ");
  const name = trialName(trial.number);
  say(`${name}  ${recipeText(trial)}: ${trial.state}, ${figures} (${duration(seconds)})`);
}

export function introduce(session: StudySession, say: (text: string) => void): void {
  const { spec } = session;
  say(`study ${session.study_id}`);
  const { rows } = kindOf(session.request).shown;
  if (rows === "scores") {
    say(`${modelLine(session)}; tasks ${spec.tasks.map((t) => t.task).join(", ")}`);
  } else if (rows === "trials") introduceSearch(session, say);
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
  say(`tasks ${spec.tasks.map((t) => t.task).join(", ")}`);
  const chosen = spec.assumptions.find(({ field }) => field === "runtime");
  say(`runtime ${spec.runtime}: ${chosen?.reason ?? "asked for"}`);
  const read = readSentence({ facts, spec });
  if (read !== null) say(`  ${read}`);
  say(`constraints: ${constraintsLine(spec)}`);
  const limits = limitsText(request);
  if (limits !== null) say(`limits: ${limits}`);
  const note = objectivesSentence({ spec, without: [] });
  if (note !== null) say(`note: ${note}`);
}

/** Says how a study ended and where its files are. */
export function conclude(
  view: StudyView,
  message: string,
  files: StudyOutputs,
): void {
  const unsafe = unsafeSentence(view);
  if (unsafe !== null) console.log(`\n${unsafe}`);
  const { rows } = kindOf(view.request).shown;
  if (rows !== "trials") {
    const own = ownOf(view.request).ended(view, dirname(files.html));
    console.log(`\n${rows === "scores" ? evaluationText(view, message) : `Ended: ${message}`}`);
    if (own !== null) console.log(`\n${own}`);
    console.log(`Report          ${files.html}\nResults (JSON)  ${files.results}`);
    return;
  }
  const own = ownOf(view.request).ended(view, dirname(files.html));
  if (own !== null) console.log(`\n${own}`);
  if (view.front_note !== null) console.log(`\n${view.front_note}`);
  console.log(`\n${trialTable(view)}\n`);
  const sides = sidesSentence(view);
  if (sides !== null) console.log(`${sides}\n`);
  console.log(`Ended: ${message}`);
  const size = recommendedSize(view);
  if (size !== null) console.log(`  ${size}`);
  for (const reason of [...contextSentences(view), ...view.reasons]) console.log(`  ${reason}`);
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
  const runs = deploymentSentence(view, view.recommended ?? "");
  if (runs !== null) console.log(`\n${runs}`);
  const lines = deploymentLines(view, view.recommended ?? "");
  console.log(`\n${lines === "" ? files.loader : lines}\n`);
}

/** Waits for the mirror's last records and the report, and says where it stands. */
export async function sayMirrored(
  mirror: RunningMirror | null,
  output: string | undefined,
  say: (text: string) => void,
): Promise<void> {
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
