import { counted } from "../view/number_text.ts";
import {
  allowedDrop,
  type Artifact,
  besideOriginal,
  contextWords,
  goalText,
  inLimitUnit,
  isDecisive,
  limitUnit,
  limitWords,
  metricWords,
  qualityConstraint,
  type QualityMetric,
  type Spec,
  trialName,
} from "../../../core/mod.ts";
import { differenceText } from "../view/difference_text.ts";
import { bytes, number, percent } from "../view/number_text.ts";
import { deploymentLines, deploymentSentence, sidesOf } from "../view/deployment.ts";
import { contextSentences } from "../caches/cache_words.ts";
import { recommendedSize } from "../view/size_words.ts";
import { checkpointOf, modelLabel, type StudyView } from "../view/study_view.ts";
import { ratioText, type TrialRow } from "../view/trial_rows.ts";
import { unsafeSentence } from "../view/unsafe_code.ts";
import { type Block, heading, list, paragraph } from "./blocks.ts";
import { figureNotes } from "../view/scored_again.ts";

/** Who wrote a report and when its study ended: what a stranger cites. */
export interface Authorship {
  /** As a reader should cite them; absent: nobody is named. */
  readonly author?: string;
}

/** The day on which a study's last trial ended, or began: `2026-11-22`; null: none began. */
export function dayOf({ trials }: Pick<StudyView, "trials">): string | null {
  const times = trials.map(({ started_at, finished_at }) => finished_at ?? started_at);
  return times.sort().at(-1)?.slice(0, 10) ?? null;
}

/** A report's title. */
export function titleOf({ facts }: Pick<StudyView, "facts">): string {
  return `${modelLabel(facts)} on ${facts.dataset.dataset}`;
}

/** The constraints in force, in words. */
export function constraintsLine(spec: Spec): string {
  const { max_latency_ms, max_size_gb, max_vram_gb, max_kv_gb } = spec.constraints;
  const at = spec.context_tokens === undefined ? null : contextWords(spec.context_tokens);
  const quality = qualityConstraint(spec);
  const drop = inLimitUnit(quality, allowedDrop(spec));
  const by_task = Object.entries(spec.constraints.max_task_drops ?? {});
  return [
    `${limitWords(quality)} at most ${Number(drop.toPrecision(6))}${limitUnit(quality)}` +
    (limitUnit(quality) === "" ? " (absolute)" : ""),
    ...by_task.map(([task, limit]) => `that of ${task} at most ${limit}`),
    ...(spec.constraints.goals ?? []).map((goal) => `goal ${goalText(goal)} against the original`),
    max_latency_ms === null ? "" : `latency at most ${max_latency_ms} ms per token`,
    max_size_gb === null ? "" : `size at most ${max_size_gb} GB`,
    max_vram_gb === null
      ? ""
      : `memory${at === null ? "" : ` (weights and KV cache at ${at})`} at most ${max_vram_gb} GB`,
    max_kv_gb === undefined ? "" : `KV cache at ${at} at most ${max_kv_gb} GB`,
  ].filter((text) => text !== "").join("; ");
}

/** Title, author and date, and what must not be overlooked. */
export function titleBlocks(view: StudyView, { author }: Authorship): Block[] {
  const line = [author, dayOf(view), `pare ${view.provenance.pare_version}`]
    .filter((one) => one !== undefined && one !== null && one !== "");
  const unsafe = unsafeSentence(view);
  return [
    heading(1, titleOf(view)),
    paragraph(line.join(" · ")),
    ...(unsafe === null ? [] : [paragraph(`**${unsafe}**`)]),
  ];
}

/** The question. */
export function askedBlocks(view: StudyView): Block[] {
  const { dataset, model, device } = view.facts;
  const done = view.trials.filter((trial) => trial.number > 0);
  return [
    heading(2, "What was asked"),
    paragraph(
      `How far can ${modelLabel(view.facts)} (${number(model.parameters / 1e6, 4)} M parameters, ` +
        `${
          bytes(model.original_bytes)
        }) be pared down on ${device.device_name} before it answers ` +
        `${dataset.dataset} worse than allowed? Constraints: ${constraintsLine(view.spec)}.`,
    ),
    paragraph(
      `Study \`${view.study_id}\`: ${counted(done.length, "trial")}, ${reachedText(done)}. ` +
        `Ended: ${(view.message ?? view.stop ?? "still running").replace(/\.$/, "")}.`,
    ),
    ...figureNotes(view).map((note) => paragraph(`**${note}**`)),
  ];
}

/** What a trial's quality is beside the baseline's, as a clause. */
function qualityClause(view: StudyView, row: TrialRow): string {
  const metric = (view.objectives[0] ?? "accuracy") as QualityMetric;
  const figure = row.figures[metric];
  const base = view.rows.find(({ baseline }) => baseline)?.figures[metric];
  if (figure === undefined) return "its quality was not measured";
  const beside = base === undefined ? "" : ` against the original's ${number(base.value)}`;
  const { difference } = row;
  const range = difference?.interval == null
    ? ""
    : ` (difference ${differenceText(difference)}, its 95 % interval in brackets, on the same ` +
      `${figure.n} samples)`;
  return `its ${metricWords(metric)} is ${number(figure.value)}${beside}${range}`;
}

/** Such as "2.96 times smaller than"; a setting of the original's cache takes what that does. */
function timesSmaller(ratio: number): string {
  const said = ratio.toFixed(2);
  return said === "1.00" ? "as much as" : `${said} times smaller than`;
}

function costClause(view: StudyView, row: TrialRow): string {
  const { fp16_bytes } = view.facts.model;
  const parts = [
    row.size_bytes === null || !(fp16_bytes > 0)
      ? ""
      : `${bytes(row.size_bytes)} on disk, ${
        timesSmaller(fp16_bytes / row.size_bytes)
      } the original as 16-bit floats`,
    row.latency_ratio === null
      ? ""
      : `a time per token of ${besideOriginal(ratioText(row), sidesOf(view, row))}${
        row.latency_emulated ? ", emulated" : ""
      }`,
  ].filter((text) => text !== "");
  return parts.length === 0
    ? "What it costs was not measured."
    : `It takes ${parts.join(" and ")}.`;
}

function surenessClause(row: TrialRow): string {
  const open = row.verdicts.filter(({ verdict }) => verdict !== "met");
  const met = open.length === 0
    ? "It meets every constraint"
    : `Not decided by these samples: the limit on ${
      open.map(({ constraint }) => limitWords(constraint)).join(", ")
    }`;
  const sure = row.front_probability === null
    ? ""
    : `; with other samples of the same kind it would be on the front in ${
      percent(row.front_probability)
    } of cases`;
  return `${met}${sure}.`;
}

/** How far trials came: those evaluated in full, and apart from them those of a lower rung alone. */
function reachedText(trials: readonly Pick<TrialRow, "state" | "fidelity">[]): string {
  const ended = trials.filter(({ state }) => state === "completed");
  const full = ended.filter(({ fidelity }) => isDecisive(fidelity)).length;
  const lower = ended.length - full;
  return `${full} of them measured to the end` +
    (lower === 0 ? "" : `, ${lower} on a lower rung alone`);
}

/** The answer in three sentences: what is recommended, what it gains and loses, how sure that is. */
function threeSentences(view: StudyView): string {
  const row = view.rows.find((one) => one.trial_id === view.recommended);
  if (row !== undefined) {
    return `**Recommended: ${trialName(row.number)}, ${row.recipe}**; ${
      qualityClause(view, row)
    }. ${costClause(view, row)} ${surenessClause(row)}`;
  }
  const compressed = view.rows.filter(({ baseline }) => !baseline);
  if (view.stop === null && compressed.length === 0) {
    return "**No answer yet.** The study is not closed, and no recipe was tried so far.";
  }
  const tried = compressed.length === 0
    ? "Nothing was tried that could be recommended."
    : `${compressed.length === 1 ? "1 recipe was" : `${compressed.length} recipes were`} tried, ${
      reachedText(compressed)
    }.`;
  const failed = compressed.filter(({ state }) => state !== "completed").length;
  return `**No trial is recommended: keep the original.** ${tried} ` +
    (failed === 0
      ? "None failed; why none is recommended stands below."
      : `${failed} did not end in a measurement; why stands under “Not measured to the end”.`);
}

/** The answer, why, and how the recommended checkpoint is loaded. */
export function answerBlocks(view: StudyView, loader: string): Block[] {
  const size = recommendedSize(view);
  const artifact = view.recommended === null ? undefined : checkpointOf(view, view.recommended);
  const runs = deploymentSentence(view, view.recommended ?? "");
  const run = deploymentLines(view, view.recommended ?? "");
  const checkpoint: Block[] = artifact === undefined ? [] : [
    ...(runs === null ? [] : [paragraph(runs)]),
    ...(run === "" ? [] : [{ block: "code" as const, language: "sh", text: run }]),
    paragraph(`Checkpoint: \`${artifact.location}\`${weightsWords(view, artifact)}`),
    ...(loader === "" ? [] : [{ block: "code" as const, language: "python", text: loader }]),
    ...list([...artifact.notes ?? []]),
  ];
  return [
    heading(2, "The answer"),
    paragraph(threeSentences(view)),
    ...(size === null ? [] : [paragraph(size)]),
    ...list([...contextSentences(view), ...view.reasons]),
    ...checkpoint,
  ];
}

/** Of a setting: where the weights lie that it needs. */
function weightsWords({ artifacts }: StudyView, { weights_id }: Artifact): string {
  if (weights_id === undefined) return "";
  const place = artifacts.get(weights_id)?.location;
  const where = place === undefined ? "" : ` in \`${place}\``;
  return `, a setting of the weights ${weights_id}${where}, without a copy of them`;
}
