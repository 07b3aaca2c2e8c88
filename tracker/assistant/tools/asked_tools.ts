/** Tools that read what was recorded. */
import { z } from "zod";
import { unknownName, UsageError } from "../../../core/mod.ts";
import { listViews } from "../../board/resources/list_views.ts";
import { readFront } from "../../board/resources/figures.ts";
import { listStudies, readStudy, type Row } from "../../board/resources/studies.ts";
import {
  compareStudies,
  listTrials,
  readComparison,
  readTrial,
  TRIAL_ORDERS,
} from "../../board/resources/trials.ts";
import { renderMarkdown } from "../../show/reports/render_markdown.ts";
import { recommendedLoader, reportBlocks } from "../../show/reports_of_study.ts";
import { viewStudy } from "../../show/view/view_study.ts";
import { pageOf } from "../answer.ts";
import { type AssistantWorld, defineTool } from "../tool.ts";

const Study = z.string().max(300).describe("a study's id, as `studies` lists them");
const Page = z.int().min(1).max(1_000_000).default(1);

/** Trials of the front that a study is shown with. */
const FRONT_SHOWN = 20;

export const query = defineTool("query", {
  title: "Ask the store in SQL",
  description: "One reading statement of DuckDB's SQL over the store's tables and views. Call " +
    "`views` first: it says what there is and what each column means. Give values by $name.",
  input: z.strictObject({
    sql: z.string().min(1).max(20_000),
    params: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .optional().describe("values by name, for $name"),
    max_rows: z.int().min(1).max(500).default(50),
  }),
  run: async ({ stores }, { sql, params, max_rows }) => {
    const { columns, rows, capped, stale } = await (await stores.at(undefined)).query(sql, {
      ...{ maxRows: max_rows, timeoutMs: 30_000 },
      ...(params === undefined ? {} : { params }),
    });
    return {
      columns: columns.map(({ name }) => name),
      rows,
      ...(capped ? { note: "there are more rows: narrow the question, or raise max_rows" } : {}),
      ...(stale === null ? {} : { stale }),
    };
  },
});

/** Tables and views, a line each; of one that is named its columns. */
export async function viewsOf({ stores }: AssistantWorld, name?: string): Promise<unknown> {
  const all = await listViews(await stores.at(undefined));
  if (name === undefined) {
    return all.map((one) => ({ name: one["name"], comment: one["comment"] }));
  }
  const found = all.find((one) => one["name"] === name);
  if (found !== undefined) return found;
  throw new UsageError(unknownName("view", name, all.map((one) => String(one["name"]))));
}

export const views = defineTool("views", {
  title: "Tables and views",
  description: "What `query` can ask: every table and view with what it holds; with `name` the " +
    "columns of one, their types and meanings.",
  input: z.strictObject({ name: z.string().max(100).optional() }),
  run: (world, { name }) => viewsOf(world, name),
});

export const studies = defineTool("studies", {
  title: "Studies",
  description: "All studies, the newest first: id, kind, model, dataset, trials, how it stands.",
  input: z.strictObject({ page: Page }),
  run: async ({ stores }, { page }) => {
    const { answers } = await listStudies(stores);
    const size = 50;
    return {
      studies: answers.slice((page - 1) * size, page * size).map(({ store: _, ...one }) => one),
      ...{ page, pages: Math.max(1, Math.ceil(answers.length / size)) },
    };
  },
});

/** Whether a name is a trial's, `study/t03`, of a study that is there. */
async function trialNamed({ stores }: AssistantWorld, name: string): Promise<string | null> {
  const at = name.lastIndexOf("/");
  if (at <= 0) return null;
  const { answers } = await stores.each(async (store) => await store.studyIds());
  const ids = answers.flat();
  return !ids.includes(name) && ids.includes(name.slice(0, at)) ? name.slice(0, at) : null;
}

const FRONT_COLUMNS = [
  ...["trial_id", "methods", "state", "on_front", "recommended", "violated", "undecided"],
  ...["accuracy", "perplexity", "latency_ratio", "size_bytes", "memory_bytes"],
];

function shownFront(rows: readonly Row[]): Row[] {
  return rows.slice(0, FRONT_SHOWN).map((row) =>
    Object.fromEntries(FRONT_COLUMNS.map((name) => [name, row[name] ?? null]))
  );
}

export const show = defineTool("show", {
  title: "A study or a trial",
  description:
    "A study (`demo-1`): what was asked, how it stands, alerts, failures, its front. A " +
    "trial (`demo-1/t03`): recipe, knobs, figures with errors, gates, verdicts, files.",
  input: z.strictObject({ name: z.string().min(1).max(300) }),
  run: async (world, { name }) => {
    const study = await trialNamed(world, name);
    if (study !== null) return await readTrial(world.stores, study, name);
    const row = await readStudy(world.stores, name);
    return { ...row, front: shownFront(await readFront(await world.stores.of(name), name)) };
  },
});

export const trials = defineTool("trials", {
  title: "Trials of a study",
  description: "Trials with their main figures, a page of 25, in an order of your choice.",
  input: z.strictObject({
    study: Study,
    order: z.enum(TRIAL_ORDERS as [string, ...string[]]).default("rank"),
    find: z.string().max(100).default("").describe("in a trial's name, methods or state"),
    page: Page,
  }),
  run: ({ stores }, { study, ...asked }) => listTrials(stores, study, { ...asked, page_size: 25 }),
});

export const compare = defineTool("compare", {
  title: "Two trials, or two studies",
  description: "Two trials sample by sample, with intervals of their differences where the " +
    "protocols are the same, and what each costs; or two studies.",
  input: z.strictObject({
    first: z.string().min(1).max(300),
    second: z.string().min(1).max(300),
  }),
  run: async ({ stores }, { first, second }) => {
    const beside = await compareStudies(stores, first, second);
    return beside ?? (await readComparison(stores, first, second)).beside;
  },
});

/** The report of a study as Markdown, without its figures. */
export async function reportOf({ stores }: AssistantWorld, study: string): Promise<string> {
  const view = await viewStudy(await stores.of(study), study);
  return renderMarkdown(reportBlocks(view, { loader: await recommendedLoader(view) }));
}

export const report = defineTool("report", {
  title: "A study's report",
  description: "The report of a study as Markdown, page by page: what was found, how it was " +
    "measured, what it costs, how to run the recommended file.",
  input: z.strictObject({ study: Study, page: Page }),
  run: async (world, { study, page }) => pageOf(await reportOf(world, study), page, 16_000),
});
