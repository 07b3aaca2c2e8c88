import { counted } from "../../view/number_text.ts";
import { modelLabel, type StudyView } from "../../view/study_view.ts";
import { type Authorship, dayOf, titleOf } from "../answer_blocks.ts";

/** A file of a report. */
export interface CrateFile {
  /** Relative to the folder. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** What each file is, and its media type, by how its name ends. */
const KINDS: readonly (readonly [end: string, type: string, words: string])[] = [
  ["report.html", "text/html", "the report, to be read"],
  ["report.md", "text/markdown", "the report as Markdown"],
  ["model_card.md", "text/markdown", "model card of the recommended checkpoint"],
  ["leaderboard.csv", "text/csv", "every trial with its figures, a row each"],
  ["results.json", "application/json", "every trial as vector and report"],
  ["study.json", "application/json", "the study's document: what was asked"],
  ["tables.tex", "application/x-tex", "the trials as a LaTeX table"],
  [".bib", "application/x-bibtex", "how to cite the report"],
  [".svg", "image/svg+xml", "figure"],
  [".png", "image/png", "figure"],
];

function kindOf(name: string) {
  const [, type, words] = KINDS.find(([end]) => name.endsWith(end)) ??
    ["", "application/octet-stream", "file"];
  return { type, words };
}

function fileEntity({ name, bytes, sha256 }: CrateFile) {
  const { type, words } = kindOf(name);
  return {
    "@id": encodeURI(name),
    "@type": "File",
    name,
    description: words,
    encodingFormat: type,
    contentSize: String(bytes),
    sha256,
  };
}

/** What was done, by what, to what; times only where a trial has them. */
function actionEntity(view: StudyView, ids: readonly { "@id": string }[]) {
  const starts = view.trials.map(({ started_at }) => started_at).sort();
  const ends = view.trials.flatMap(({ finished_at }) => finished_at ?? []).sort();
  return {
    "@id": "#study",
    "@type": "CreateAction",
    name: `Study ${view.study_id}`,
    description: view.message ?? "The study is not closed.",
    instrument: { "@id": "#pare" },
    object: [{ "@id": "#model" }, { "@id": "#dataset" }],
    result: ids,
    ...(starts[0] === undefined ? {} : { startTime: starts[0] }),
    ...(ends.at(-1) === undefined ? {} : { endTime: ends.at(-1) }),
  };
}

/**
 * The folder of a report as an RO-Crate 1.1: `ro-crate-metadata.json` as a text. It is dated by the
 * study's last trial; `today` is the day of one without trials.
 */
export function roCrate(
  view: StudyView,
  files: readonly CrateFile[],
  today: string,
  { author }: Authorship = {},
): string {
  const { model, dataset } = view.facts;
  const entities = files.map(fileEntity);
  const ids = entities.map((one) => ({ "@id": one["@id"] }));
  const { pare_version, code_commit } = view.provenance;
  const root = {
    "@id": "./",
    "@type": "Dataset",
    name: `Compression of ${titleOf(view)}`,
    description: `Report of the pare study ${view.study_id}: ${
      counted(view.trials.length, "trial")
    }.`,
    datePublished: dayOf(view) ?? today,
    ...(author === undefined || author === "" ? {} : { author: { "@id": "#author" } }),
    hasPart: ids,
    mentions: [{ "@id": "#study" }],
  };
  const graph = [
    {
      "@id": "ro-crate-metadata.json",
      "@type": "CreativeWork",
      conformsTo: { "@id": "https://w3id.org/ro/crate/1.1" },
      about: { "@id": "./" },
    },
    root,
    ...entities,
    actionEntity(view, ids),
    {
      "@id": "#pare",
      "@type": "SoftwareApplication",
      name: "pare",
      softwareVersion: code_commit === null ? pare_version : `${pare_version} (${code_commit})`,
    },
    {
      "@id": "#model",
      "@type": "CreativeWork",
      name: modelLabel(view.facts),
      ...(model.revision === null ? {} : { version: model.revision }),
    },
    {
      "@id": "#dataset",
      "@type": "CreativeWork",
      name: dataset.dataset,
      ...(dataset.sha256 === null ? {} : { sha256: dataset.sha256 }),
    },
    ...(author === undefined || author === ""
      ? []
      : [{ "@id": "#author", "@type": "Person", name: author }]),
  ];
  return `${
    JSON.stringify(
      { "@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph },
      null,
      2,
    )
  }\n`;
}
