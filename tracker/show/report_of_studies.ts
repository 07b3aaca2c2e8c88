import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FULL, metricWords, UsageError } from "../../core/mod.ts";
import { findStudy } from "../lab/find_study.ts";
import { pareto } from "./plots/figures/pareto.ts";
import type { Block } from "./reports/blocks.ts";
import { renderHtml } from "./reports/render_html.ts";
import { renderMarkdown } from "./reports/render_markdown.ts";
import { comparableGroups } from "./reports/studies/common_front.ts";
import {
  type RecommendedBeside,
  studiesCsv,
  studiesReport,
} from "./reports/studies/studies_report.ts";
import type { StudyBeside } from "./reports/studies/study_beside.ts";
import type { Store } from "../store/store.ts";
import { viewStudy } from "./view/view_study.ts";
import { compareTrials } from "./view/compare_trials.ts";
import { differenceText } from "./view/difference_text.ts";

const PROTOCOL = `
  SELECT string_agg(p.task || ' ' || p.protocol, ' ' ORDER BY p.task) AS protocol
  FROM protocols p JOIN trials t USING (study_id, trial_id)
  WHERE t.study_id = $id AND t.strategy_id IS NULL AND t.state = 'completed' AND p.fidelity = '${FULL}'`;

/** The recommended trials of a group, each against the first one's, sample by sample. */
async function recommendedBeside(
  store: Store,
  group: readonly StudyBeside[],
): Promise<RecommendedBeside[]> {
  const [first, ...others] = group.flatMap(({ view: { recommended } }) => recommended ?? []);
  if (first === undefined) return [];
  return await Promise.all(others.map(async (second) => {
    try {
      const { comparisons, refused } = await compareTrials(store, first, second);
      const said = comparisons.map((one) =>
        `${one.task}, ${metricWords(one.metric)}: ` +
        `${differenceText({ ...one, value: one.difference })}, paired by ${one.n} samples.`
      );
      return { first, second, sentences: [...said, ...refused] };
    } catch (error) {
      return { first, second, sentences: [`not paired: ${(error as Error).message}`] };
    }
  }));
}

/** One report over several studies, before it is written. */
export interface ReportOfStudies {
  readonly studies: readonly StudyBeside[];
  readonly blocks: readonly Block[];
  readonly html: string;
}

/** The report over several studies of a store, of their names; each is named once. */
export async function reportOfStudies(
  store: Store,
  names: readonly string[],
  author?: string,
): Promise<ReportOfStudies> {
  const ids = [];
  for (const name of names) ids.push((await findStudy(store, name)).id);
  if (new Set(ids).size < Math.max(2, ids.length)) {
    throw new UsageError(
      `Cannot write one report over ${names.join(", ") || "no study"}: ` +
        "name two studies or more, each once",
    );
  }
  const studies: StudyBeside[] = [];
  for (const id of ids) {
    const [row] = await store.ask(PROTOCOL, { params: { id } });
    const protocol = row?.["protocol"];
    studies.push({
      view: await viewStudy(store, id),
      protocol: typeof protocol === "string" ? protocol : null,
    });
  }
  const beside = await Promise.all(
    comparableGroups(studies).map((group) => recommendedBeside(store, group)),
  );
  const blocks = studiesReport(studies, beside.flat(), author, pareto);
  return { studies, blocks, html: renderHtml(`${ids.length} studies`, blocks) };
}

/** Writes one report over several studies of a store into a folder; gives its files. */
export async function writeStudiesReport(
  store: Store,
  names: readonly string[],
  folder: string,
  author?: string,
): Promise<string[]> {
  return await writeReportOfStudies(await reportOfStudies(store, names, author), folder);
}

/** Writes page, Markdown, table and figures into a folder; gives their files. */
export async function writeReportOfStudies(
  { studies, blocks, html }: ReportOfStudies,
  folder: string,
): Promise<string[]> {
  const figures = blocks.flatMap((one) => one.block === "figure" ? [[one.file, one.svg]] : []);
  const contents: Record<string, string> = {
    "report.html": html,
    "report.md": renderMarkdown(blocks),
    "studies.csv": studiesCsv(studies),
    ...Object.fromEntries(figures),
  };
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text);
  return Object.keys(contents).map((name) => join(folder, name));
}
