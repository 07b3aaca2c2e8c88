import { trialName } from "../../../../core/mod.ts";
import { differenceText } from "../../view/difference_text.ts";
import { bytes, number } from "../../view/number_text.ts";
import { modelLabel } from "../../view/study_view.ts";
import { constraintsLine } from "../answer_blocks.ts";
import { type Block, heading, list, paragraph, table } from "../blocks.ts";
import { bibtex } from "../limit_blocks.ts";
import { comparableGroups, type DrawFront, frontBlocks } from "./common_front.ts";
import {
  dataKey,
  energyOf,
  idOf,
  modelKey,
  qualityKey,
  qualityOf,
  speedKey,
  type StudyBeside,
} from "./study_beside.ts";

/** What one study's recommended trial has over another's, in sentences, or why it is not compared. */
export interface RecommendedBeside {
  readonly first: string;
  readonly second: string;
  readonly sentences: readonly string[];
}

const HEAD = ["study", "recommended", "quality", "difference to its own baseline [95 %]"]
  .concat(["bytes", "original bytes", "latency / baseline", "energy / baseline", "samples"]);

/** The recommended trial of each study beside its own original; rows of a table, and of a CSV. */
function recommendedRows(studies: readonly StudyBeside[]): string[][] {
  return studies.map((study) => {
    const { view } = study;
    const row = view.rows.find(({ trial_id }) => trial_id === view.recommended);
    const { difference } = row ?? {};
    return [
      idOf(study),
      row === undefined ? "none" : `${trialName(row.number)}: ${row.recipe}`,
      number(row === undefined ? null : qualityOf(row)?.value),
      difference == null ? "–" : differenceText(difference),
      bytes(row?.size_bytes),
      bytes(view.facts.model.original_bytes),
      number(row?.latency_ratio?.value),
      number(row === undefined ? null : energyOf(study, row)),
      row?.samples == null ? "–" : String(row.samples.n),
    ];
  });
}

/** What is not the same in all of them; a column a study. */
function differing(studies: readonly StudyBeside[]): Block[] {
  const facts = ({ view }: StudyBeside): Record<string, string> => {
    const { facts: { model, dataset, device }, spec, provenance } = view;
    return {
      model: modelLabel(view.facts),
      "model revision": model.revision ?? "–",
      "original bytes": bytes(model.original_bytes),
      dataset: dataset.dataset,
      tasks: spec.tasks.map(({ task, task_version }) => `${task} ${task_version}`).join(", "),
      machine: `${device.device_name}, ${device.cores} cores, ${device.platform}`,
      runtime: spec.runtime,
      constraints: constraintsLine(spec),
      torch: `${device.torch_version} ${device.torch_build}`,
      "energy read by": device.energy_reader,
      pare: `${provenance.pare_version}, code ${provenance.code_commit ?? "unknown"}`,
      seed: String(view.request.seed),
    };
  };
  const all = studies.map(facts);
  const rows = Object.keys(all[0]!).map((what) => [what, ...all.map((one) => one[what]!)])
    .filter(([, ...values]) => new Set(values).size > 1);
  return rows.length === 0
    ? [paragraph("Nothing that was recorded of them differs.")]
    : [table(["", ...studies.map(idOf)], rows)];
}

/** Why a study is in no group: what differs between it and each other one. */
function leftOut(studies: readonly StudyBeside[]): string[] {
  const pairs = studies.flatMap((one, at) =>
    studies.slice(at + 1).map((two) => [one, two] as const)
  );
  return pairs.flatMap(([one, two]) => {
    const pair = `${idOf(one)} and ${idOf(two)}`;
    const unlike = [
      ...(modelKey(one) === modelKey(two) ? [] : ["their models differ"]),
      ...(dataKey(one) === dataKey(two) ? [] : ["their data differ"]),
      ...(one.protocol === null || two.protocol === null
        ? ["a baseline has no recorded samples"]
        : one.protocol === two.protocol
        ? []
        : ["their samples or task versions differ"]),
    ];
    return [
      ...(qualityKey(one) !== null && qualityKey(one) === qualityKey(two)
        ? []
        : [`Quality of ${pair}: ${unlike.join(", ") || "their models differ"}.`]),
      ...(speedKey(one) === speedKey(two)
        ? []
        : [`Latency and energy of ${pair}: machine or runtime differ.`]),
    ];
  });
}

/** The file that a group's front is drawn in, beside the report. */
const frontFile = (at: number) => `front-${at + 1}.svg`;

/** One report over several studies: compared is only what may be. */
export function studiesReport(
  studies: readonly StudyBeside[],
  beside: readonly RecommendedBeside[],
  author: string | undefined,
  pareto: DrawFront,
): Block[] {
  const groups = comparableGroups(studies);
  const nothing =
    "Nothing of quality is comparable between these studies: no two have the same model, " +
    "data, samples and task versions; each stands beside its own original alone.";
  return [
    heading(1, `${studies.length} studies beside each other`),
    paragraph(studies.map(idOf).join(", ")),
    heading(2, "What may be compared"),
    ...(groups.length === 0
      ? [paragraph(nothing)]
      : list(groups.map((group) =>
        `Quality of ${
          group.map(idOf).join(", ")
        }: model, data, samples and task versions are the same.`
      ))),
    heading(2, "What each recommends"),
    table(
      HEAD,
      recommendedRows(studies),
      "Bytes beside the original's; latency and energy, where it was read and not estimated, over the " +
        "study's own baseline of the same minutes. Rows of studies that are in no group together are not compared.",
    ),
    ...groups.flatMap((group, at) => [
      heading(2, `Front ${at + 1}: ${group.map(idOf).join(", ")}`),
      ...frontBlocks(group, frontFile(at), pareto),
    ]),
    ...(groups.length === 0 ? [] : [
      heading(2, "The recommended trials beside each other"),
      ...list([
        ...beside.map(({ first, second, sentences }) =>
          `${second} against ${first}: ${sentences.join(" ")}`
        ),
        ...groups.flat().filter(({ view: { recommended } }) => recommended === null).map((one) =>
          `${idOf(one)} recommends no trial: nothing of it is paired.`
        ),
      ]),
    ]),
    heading(2, "What differs between them"),
    ...differing(studies),
    heading(2, "What was left out, and why"),
    ...list(leftOut(studies).length === 0 ? ["Nothing was left out."] : leftOut(studies)),
    heading(2, "Limits"),
    ...list([
      "A front over studies has the trials that each happened to try: it ranks no search.",
      "A front has no interval here; each study's own report has them.",
    ]),
    heading(2, "How to cite"),
    {
      block: "code",
      language: "bibtex",
      text: studies.map(({ view }) => bibtex(view, author === undefined ? {} : { author })).join(
        "\n\n",
      ),
    },
  ];
}

/** The table over studies as CSV; a cell that a spreadsheet would compute is text. */
export function studiesCsv(studies: readonly StudyBeside[]): string {
  const cell = (text: string) =>
    `"${(/^[=+@]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  return [HEAD, ...recommendedRows(studies)].map((row) => `${row.map(cell).join(",")}\n`).join("");
}
