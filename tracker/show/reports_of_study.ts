import { createHash } from "node:crypto";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { kindOf, resultReport, resultVector } from "../../core/mod.ts";
import { ownOf } from "./kinds/own_of.ts";
import type { Contents } from "./kinds/own_shown.ts";
import { PAGE_WIDTH, PHONE_WIDTH } from "./page_widths.ts";
import type { ReportFigures } from "./reports/front_blocks.ts";
import { existsSync } from "node:fs";
import { loaderLines } from "../artifacts/loader_lines.ts";
import { beliefsPlot } from "./plots/beliefs_plot.ts";
import { hypervolumePlot } from "./plots/hypervolume_plot.ts";
import { pareto } from "./plots/figures/pareto.ts";
import { svgToPng } from "./plots/svg_to_png.ts";
import { type Block, heading } from "./reports/blocks.ts";
import { SQL_FOLDER, SQL_NAMES, type SqlFiles } from "./report_sql/sql_box.ts";
import { frontData } from "./pages/front_data.ts";
import { type Authorship, titleOf } from "./reports/answer_blocks.ts";
import { renderHtml } from "./reports/render_html.ts";
import { renderMarkdown } from "./reports/render_markdown.ts";
import { originalRan } from "./view/deployment.ts";
import { leaderboardCsv } from "./view/leaderboard_csv.ts";
import { licenseOf } from "../artifacts/model_license.ts";
import { latexTables } from "./reports/formats/latex_tables.ts";
import { modelCard } from "./reports/formats/model_card.ts";
import { type CrateFile, roCrate } from "./reports/formats/ro_crate.ts";
import { bibtex } from "./reports/limit_blocks.ts";
import { documentOf } from "./reports/provenance_blocks.ts";
import { beliefBlocks } from "./reports/search_blocks.ts";
import { studyReport } from "./reports/study_report.ts";
import type { EvidenceFigure } from "./evidence_figures.ts";
import { trialFigures } from "./view/trial_figures.ts";
import { checkpointOf, modelLabel, originalPlace, type StudyView } from "./view/study_view.ts";

/** Files that a study leaves for people, and the checkpoint that it recommends. */
export interface StudyOutputs {
  /** The Pareto plot; null of a run without a front. */
  readonly svg: string | null;
  readonly png: string | null;
  readonly markdown: string;
  readonly html: string;
  readonly results: string;
  /** Every file that was written, those above among them. */
  readonly files: readonly string[];
  readonly checkpoint: string | null;
  /** The lines that load the checkpoint; empty where none is recommended. */
  readonly loader: string;
}

/** What may be said of a study's Pareto plot; the study says what is left out. */
export interface PlotOptions {
  /** Pixels, from 390 to 1,600. */
  readonly width?: number;
  readonly title?: string;
  readonly subtitle?: string;
  /** A line below the subtitle. */
  readonly caption?: string;
  /** Colours; default: as the reader's system has it. */
  readonly theme?: "auto" | "light" | "dark";
  /** Metrics of its axes, such as `["accuracy", "size_bytes"]`. */
  readonly objectives?: readonly string[];
}

/** The study's Pareto plot as SVG. */
export function plotOf(view: StudyView, options: PlotOptions = {}): string {
  const { dataset, device } = view.facts;
  const samples = view.rows.map((row) => row.accuracy?.n ?? 0);
  const caption = options.caption ?? view.front_note;
  return pareto(trialFigures(view), {
    title: options.title ?? `${modelLabel(view.facts)} on ${dataset.dataset}`,
    subtitle: options.subtitle ??
      `${device.device_name}, ${device.cores} cores; original in ` +
        `${originalRan(view) ?? view.spec.runtime}; ` +
        `${Math.max(0, ...samples)} samples; seed ${view.request.seed}`,
    ...(caption === null ? {} : { caption }),
    ...(options.width === undefined ? {} : { width: options.width }),
    ...(options.theme === undefined ? {} : { theme: options.theme }),
    objectives: [...options.objectives ?? view.objectives],
    allowed_drop: view.spec.constraints.max_accuracy_drop,
    context_tokens: view.spec.context_tokens ?? null,
    recommended: view.recommended,
    // It compares it with the others; what was passed over, and which latencies count as equal, stand behind.
    because: view.reasons.find((one) => one.startsWith("Its reward, ")) ?? view.reasons.at(-1) ??
      null,
  });
}

/** Every trial in the two JSON shapes that other programs read. */
function resultsOf(view: StudyView) {
  const { facts, spec } = view;
  return view.trials.map((trial) => ({
    vector: resultVector(trial, spec, facts),
    report: resultReport(trial, spec, facts),
  }));
}

/** The lines that load the recommended checkpoint; empty where there is none on this disk. */
export async function recommendedLoader(view: StudyView): Promise<string> {
  const artifact = view.recommended === null ? undefined : checkpointOf(view, view.recommended);
  if (artifact === undefined) return "";
  const { weights_id } = artifact;
  const weights = weights_id === undefined ? artifact : view.artifacts.get(weights_id);
  const here = [artifact, weights].every((one) => one !== undefined && existsSync(one.location));
  if (!here || !existsSync(join(weights!.location, "config.json"))) return "";
  return await loaderLines(artifact, weights);
}

const CURVE = "hypervolume.svg";
const BELIEFS = "beliefs.svg";

/** What a report is told beside its study. */
export interface ReportOptions extends Authorship {
  /** As of `recommendedLoader`; absent: nothing loads a checkpoint. */
  readonly loader?: string;
  /** What answers the report's SQL box; absent: the box says how to get it. */
  readonly sql?: SqlFiles;
  /** Files that run its trials again, by name, as of `reproductionFiles`; absent: there are none. */
  readonly beside?: Readonly<Record<string, string>>;
  /** As of `evidenceFigures`, which the store draws; absent: the report is without them. */
  readonly evidence?: readonly EvidenceFigure[];
}

/** The report of a study, as its kind of run has it. */
export function reportBlocks(view: StudyView, options: ReportOptions = {}): Block[] {
  const { loader = "", sql, evidence = [], beside, ...author } = options;
  const by = { ...author, repeats: beside !== undefined };
  const box: Block[] = [
    heading(2, "Ask the data"),
    { block: "sql", box: sql?.box ?? null, study_id: view.study_id },
  ];
  const figures = kindOf(view.request).needs.front ? frontFigures(view) : null;
  const own = ownOf(view.request).blocks(view);
  const search = beliefBlocks(view, { svg: beliefsPlot(view.beliefs), file: BELIEFS });
  const drawn = evidence.length === 0 ? [] : [heading(3, "Figures"), ...evidence.map(unopened)];
  return [...studyReport(view, figures, loader, { search, own, ...by }), ...box, ...drawn];
}

function frontFigures(view: StudyView): ReportFigures {
  return {
    ...{ svg: plotOf(view, { width: PAGE_WIDTH }), narrow: plotOf(view, { width: PHONE_WIDTH }) },
    file: "pareto.svg",
    curve: {
      svg: hypervolumePlot(view.episodes),
      narrow: hypervolumePlot(view.episodes, PHONE_WIDTH),
      file: CURVE,
    },
  };
}

function unopened({ summary, source, ...drawn }: EvidenceFigure): Block {
  const caption = `Its rows: ${source} in SQL.`;
  const figure: Block = { block: "figure", caption, ...drawn };
  return { block: "fold", summary, blocks: [figure] };
}

function plotFiles(view: StudyView): Contents {
  if (!kindOf(view.request).needs.front) return {};
  const svg = plotOf(view);
  return {
    "pareto.svg": svg,
    "pareto.png": svgToPng(svg),
    [CURVE]: hypervolumePlot(view.episodes),
  };
}

/** The forms that other programs and hubs read. */
function exchangeFiles(view: StudyView, loader: string, by: Authorship): Contents {
  const results = JSON.stringify(resultsOf(view), null, 2);
  const cited = { "citation.bib": `${bibtex(view, by)}\n`, "results.json": results };
  if (!kindOf(view.request).needs.methods) return cited;
  const artifact = view.recommended === null ? undefined : checkpointOf(view, view.recommended);
  // Whoever has the card has the checkpoint beside it.
  const here = artifact === undefined ? loader : loader.replaceAll(artifact.location, ".");
  const license = licenseOf(originalPlace(view));
  return {
    ...cited,
    "leaderboard.csv": leaderboardCsv(view),
    "tables.tex": latexTables(view),
    "study.json": `${documentOf(view)}\n`,
    "model_card.md": modelCard(view, {
      ...by,
      loader: here,
      ...(license === null ? {} : { license }),
    }),
  };
}

/** The scripts beside the page, by their place in its folder. */
function sqlContents(sql: SqlFiles | undefined): Contents {
  return Object.fromEntries(
    SQL_NAMES.map((name) => [`${SQL_FOLDER}/${name}`, sql?.files[name] ?? null]),
  );
}

const CRATE = "ro-crate-metadata.json";

/** Writes them into a folder, and the crate that lists them; gives their names. */
async function writeFiles(folder: string, contents: Contents, view: StudyView, by: Authorship) {
  const written: CrateFile[] = [];
  for (const [name, content] of Object.entries(contents)) {
    if (content === null) {
      await rm(join(folder, name), { force: true });
      continue;
    }
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
    if (name.endsWith(".sh")) await chmod(join(folder, name), 0o755);
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    written.push({ name, bytes: bytes.length, sha256 });
  }
  const today = new Date().toISOString().slice(0, 10);
  await writeFile(join(folder, CRATE), roCrate(view, written, today, by));
  return [...written.map(({ name }) => name), CRATE];
}

/**
 * Writes everything that a report is made of into a folder: page, Markdown, figures, tables, citation,
 * model card, and the crate that lists them. Files of an earlier run are replaced.
 */
export async function writeOutputs(
  view: StudyView,
  folder: string,
  { sql, evidence = [], beside, ...by }: Omit<ReportOptions, "loader"> = {},
): Promise<StudyOutputs> {
  await mkdir(folder, { recursive: true });
  const at = (name: string) => join(folder, name);
  const loader = await recommendedLoader(view);
  const asked = {
    ...{ loader, evidence, ...by },
    ...(sql === undefined ? {} : { sql }),
    ...(beside === undefined ? {} : { beside }),
  };
  const blocks = reportBlocks(view, asked);
  const drawn = kindOf(view.request).needs.front;
  const contents = {
    ...ownOf(view.request).files(view),
    "report.html": renderHtml(titleOf(view), blocks, frontData(view)),
    "report.md": renderMarkdown(blocks),
    ...plotFiles(view),
    [BELIEFS]: beliefsPlot(view.beliefs),
    ...Object.fromEntries(evidence.map(({ file, svg }) => [file, svg])),
    ...exchangeFiles(view, loader, by),
    ...sqlContents(sql),
    ...beside,
  };
  const files = await writeFiles(folder, contents, view, by);
  const artifact = view.recommended === null ? undefined : checkpointOf(view, view.recommended);
  return {
    svg: drawn ? at("pareto.svg") : null,
    png: drawn ? at("pareto.png") : null,
    markdown: at("report.md"),
    html: at("report.html"),
    results: at("results.json"),
    files: files.map(at),
    checkpoint: artifact?.location ?? null,
    loader,
  };
}
