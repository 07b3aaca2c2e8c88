import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resultReport, resultVector } from "../core/mod.ts";
import { existsSync } from "node:fs";
import { loaderLines } from "./artifacts/loader_lines.ts";
import { beliefsPlot } from "./plots/beliefs_plot.ts";
import { hypervolumePlot } from "./plots/hypervolume_plot.ts";
import { pareto } from "./plots/figures/pareto.ts";
import { svgToPng } from "./plots/svg_to_png.ts";
import type { Block } from "./reports/blocks.ts";
import { frontData } from "./pages/front_data.ts";
import { type Authorship, titleOf } from "./reports/answer_blocks.ts";
import { evaluationReport } from "./reports/evaluation_report.ts";
import { renderHtml } from "./reports/render_html.ts";
import { renderMarkdown } from "./reports/render_markdown.ts";
import { beliefBlocks } from "./reports/search_blocks.ts";
import { studyReport } from "./reports/study_report.ts";
import { trialFigures } from "./view/trial_figures.ts";
import { checkpointOf, modelLabel, type StudyView } from "./view/study_view.ts";

/** Files that a study leaves for people, and the checkpoint that it recommends. */
export interface StudyOutputs {
  /** The Pareto plot; null where a model was only evaluated. */
  readonly svg: string | null;
  readonly png: string | null;
  readonly markdown: string;
  readonly html: string;
  readonly results: string;
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
      `${device.device_name}, ${device.cores} cores; ${view.spec.runtime}; ` +
        `${Math.max(0, ...samples)} samples; seed ${view.request.seed}`,
    ...(caption === null ? {} : { caption }),
    ...(options.width === undefined ? {} : { width: options.width }),
    ...(options.theme === undefined ? {} : { theme: options.theme }),
    objectives: [...options.objectives ?? view.objectives],
    allowed_drop: view.spec.constraints.max_accuracy_drop,
    recommended: view.recommended,
    because: view.reasons.at(-1) ?? null, // the last of them compares it with the others
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
}

/** Pixels of the front as a page shows it, beside a narrow one for a phone. */
const PAGE_WIDTH = 1130;
const PHONE_WIDTH = 390;

/** The report of a study, or of an evaluation. */
export function reportBlocks(view: StudyView, options: ReportOptions = {}): Block[] {
  const { loader = "", ...by } = options;
  if (view.request.evaluation !== undefined) return evaluationReport(view, by);
  const figures = {
    ...{ svg: plotOf(view, { width: PAGE_WIDTH }), narrow: plotOf(view, { width: PHONE_WIDTH }) },
    file: "pareto.svg",
    curve: { svg: hypervolumePlot(view.episodes), file: CURVE },
  };
  const search = beliefBlocks(view, { svg: beliefsPlot(view.beliefs), file: BELIEFS });
  return studyReport(view, figures, loader, { search, ...by });
}

/** Writes plot, report and results into a folder; files of an earlier run are replaced. */
export async function writeOutputs(
  view: StudyView,
  folder: string,
  by: Authorship = {},
): Promise<StudyOutputs> {
  await mkdir(folder, { recursive: true });
  const at = (name: string) => join(folder, name);
  const loader = await recommendedLoader(view);
  const blocks = reportBlocks(view, { loader, ...by });
  const drawn = view.request.evaluation === undefined;
  if (drawn) {
    const svg = plotOf(view);
    await writeFile(at("pareto.svg"), svg);
    await writeFile(at("pareto.png"), svgToPng(svg));
    const curve = hypervolumePlot(view.episodes);
    if (curve !== null) await writeFile(at(CURVE), curve);
  }
  const believed = beliefsPlot(view.beliefs);
  if (believed !== null) await writeFile(at(BELIEFS), believed);
  await writeFile(at("report.md"), renderMarkdown(blocks));
  await writeFile(at("report.html"), renderHtml(titleOf(view), blocks, frontData(view)));
  await writeFile(at("results.json"), JSON.stringify(resultsOf(view), null, 2));
  const artifact = view.recommended === null ? undefined : checkpointOf(view, view.recommended);
  return {
    svg: drawn ? at("pareto.svg") : null,
    png: drawn ? at("pareto.png") : null,
    markdown: at("report.md"),
    html: at("report.html"),
    results: at("results.json"),
    checkpoint: artifact?.location ?? null,
    loader,
  };
}
