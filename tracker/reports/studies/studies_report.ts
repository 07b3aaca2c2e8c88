import { isDecisive, paretoFront, trialName } from "../../../core/mod.ts";
import { bytes, number } from "../../view/number_text.ts";
import { modelLabel, type StudyView } from "../../view/study_view.ts";
import type { TrialRow } from "../../view/trial_rows.ts";
import { type Block, heading, list, paragraph, table } from "../blocks.ts";
import { bibtex } from "../limit_blocks.ts";

/** A study among those that a report puts beside each other. */
export interface StudyBeside {
  readonly view: StudyView;
  /** Tasks with the hashes of what they asked in full; null: its baseline has none. */
  readonly protocol: string | null;
}

/** What one study's recommended trial has over another's, in sentences, or why it is not compared. */
export interface RecommendedBeside {
  readonly first: string;
  readonly second: string;
  readonly sentences: readonly string[];
}

/** The studies that one key holds for; a key of null is of no group. */
function groupsBy(
  studies: readonly StudyBeside[],
  key: (study: StudyBeside) => string | null,
): StudyBeside[][] {
  const groups = Map.groupBy(studies.filter((one) => key(one) !== null), key);
  return [...groups.values()].filter((group) => group.length > 1);
}

/** Of one model, one set of samples and one version of each task: their quality may be compared. */
export function qualityKey({ view: { facts: { model, dataset } }, protocol }: StudyBeside) {
  if (protocol === null) return null;
  const { source, revision, architecture, parameters, original_bytes } = model;
  const data = [dataset.kind, dataset.sha256 ?? dataset.dataset];
  return JSON.stringify([
    source,
    revision,
    architecture,
    parameters,
    original_bytes,
    data,
    protocol,
  ]);
}

/** Of one machine and one runtime: their latency and energy may be compared. */
function speedKey({ view: { facts: { device }, spec } }: StudyBeside): string {
  const { device_name, cores, platform, torch_version, torch_build, energy_reader } = device;
  return JSON.stringify([
    ...[device_name, cores, device.memory_gb, platform, torch_version, torch_build, energy_reader],
    spec.runtime,
  ]);
}

const idOf = ({ view }: StudyBeside) => view.study_id;
const qualityOf = (row: TrialRow) => row.accuracy ?? row.perplexity;

/** Trials measured in full that break no constraint; NaN is on no front. */
function measured({ view }: StudyBeside): TrialRow[] {
  return view.rows.filter((row) =>
    row.state === "completed" && row.fidelity !== null && isDecisive(row.fidelity) &&
    Number.isFinite(qualityOf(row)?.value) &&
    row.size_bytes !== null && !row.violated
  );
}

/** The studies in groups whose quality may be compared. */
export function comparableGroups(studies: readonly StudyBeside[]): StudyBeside[][] {
  return groupsBy(studies, qualityKey);
}

/** One front over all trials of a group; latency is in it where machine and runtime are the same. */
function frontBlocks(group: readonly StudyBeside[]): Block[] {
  const rows = group.flatMap((study) => measured(study).map((row) => ({ study, row })));
  const lower = rows.every(({ row }) => row.accuracy === null);
  const timed = new Set(group.map(speedKey)).size === 1 &&
    rows.every(({ row }) =>
      Number.isFinite(row.latency_ratio?.value) && !row.latency_emulated || row.baseline
    );
  const points = rows.map(({ row }) => [
    qualityOf(row)!.value,
    row.size_bytes!,
    ...(timed ? [row.latency_ratio?.value ?? 1] : []),
  ]);
  const better = lower ? "minimize" : "maximize";
  const front = paretoFront(points, [better, "minimize", ...(timed ? ["minimize" as const] : [])]);
  const shown = front.map((at) => rows[at]!).sort((a, b) => a.row.size_bytes! - b.row.size_bytes!);
  const cells = shown.map(({ study, row }) => [
    idOf(study),
    trialName(row.number),
    row.recipe,
    number(qualityOf(row)!.value),
    bytes(row.size_bytes),
    ...(timed ? [number(row.latency_ratio?.value ?? 1)] : []),
  ]);
  const costs = timed
    ? "quality, bytes and latency over each study's own baseline"
    : "quality and bytes";
  const why = timed
    ? ""
    : " Latency is left out: the machines or runtimes differ, or not every trial has it.";
  return [
    paragraph(`The front of all their ${rows.length} trials measured in full, of ${costs}.${why}`),
    table(
      ["study", "trial", "recipe", lower ? "perplexity" : "accuracy", "bytes"].concat(
        timed ? ["latency / baseline"] : [],
      ),
      cells,
    ),
  ];
}

const HEAD = ["study", "recommended", "quality", "difference to its own baseline"]
  .concat(["bytes", "original bytes", "latency / baseline", "samples"]);

/** The recommended trial of each study beside its own original; rows of a table, and of a CSV. */
export function recommendedRows(studies: readonly StudyBeside[]): string[][] {
  return studies.map((study) => {
    const { view } = study;
    const row = view.rows.find(({ trial_id }) => trial_id === view.recommended);
    const { difference } = row ?? {};
    const interval = difference?.interval == null
      ? "no interval"
      : `${difference.interval.map((end) => number(end)).join(" to ")}, paired by sample`;
    return [
      idOf(study),
      row === undefined ? "none" : `${trialName(row.number)}: ${row.recipe}`,
      number(row === undefined ? null : qualityOf(row)?.value),
      difference == null ? "–" : `${number(difference.value)} (${interval})`,
      bytes(row?.size_bytes),
      bytes(view.facts.model.original_bytes),
      number(row?.latency_ratio?.value),
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
    const model = ({ view: { facts: { model } } }: StudyBeside) =>
      JSON.stringify([model.source, model.revision, model.architecture, model.original_bytes]);
    const data = ({ view: { facts: { dataset } } }: StudyBeside) =>
      JSON.stringify([dataset.kind, dataset.sha256 ?? dataset.dataset]);
    const unlike = [
      ...(model(one) === model(two) ? [] : ["their models differ"]),
      ...(data(one) === data(two) ? [] : ["their data differ"]),
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

/** One report over several studies: compared is only what may be. */
export function studiesReport(
  studies: readonly StudyBeside[],
  beside: readonly RecommendedBeside[],
  author: string | undefined,
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
      "Bytes beside the original's; latency over the study's own " +
        "baseline of the same minutes. Rows of studies that are in no group together are not compared.",
    ),
    ...groups.flatMap((group, at) => [
      heading(2, `Front ${at + 1}: ${group.map(idOf).join(", ")}`),
      ...frontBlocks(group),
    ]),
    ...(beside.length === 0 ? [] : [
      heading(2, "The recommended trials beside each other"),
      ...list(
        beside.map(({ first, second, sentences }) =>
          `${second} against ${first}: ${sentences.join(" ")}`
        ),
      ),
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
