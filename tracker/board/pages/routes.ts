import { readFile } from "node:fs/promises";
import type { Context, Hono } from "hono";
import { UsageError } from "../../../core/mod.ts";
import { clientFile } from "../../show/pages/page.ts";
import type { Board } from "../board.ts";
import { FlipsQuery, ListQuery, PlanQuery } from "../api/operations.ts";
import { checked } from "../api/read_request.ts";
import { readCurves } from "../resources/curves.ts";
import { listViews } from "../resources/list_views.ts";
import { readFront } from "../resources/figures.ts";
import { readOwnPart } from "../resources/own_part.ts";
import { listStudies, readStudy } from "../resources/studies.ts";
import {
  compareStudies,
  listFlips,
  listTrials,
  readComparison,
  readTrial,
  trialId,
} from "../resources/trials.ts";
import { comparePage, compareStudiesPage } from "./compare_page.ts";
import { planModel } from "../../lab/serving/plan_model.ts";
import { planPage } from "./plan_page.ts";
import { queuePage } from "./queue_page.ts";
import { sqlPage } from "./sql_page.ts";
import { studiesPage } from "./studies_page.ts";
import { studyPage, submittedPage } from "./study_page.ts";
import { trialPage } from "./trial_page.ts";

const own = (name: string) => new URL(`../assets/${name}`, import.meta.url);

/** The board's own files, and those that it has in common with a report. */
const ASSETS: ReadonlyMap<string, URL> = new Map([
  ...["board.css", "icon.svg"].map((name) => [name, own(name)] as const),
  ...[
    "page.css",
    "axes.js",
    "board.js",
    "find.js",
    "front.js",
    "points.js",
    "queue.js",
    "sort.js",
    "sql_box.js",
    "sql_tables.js",
  ]
    .concat("table.js", "weights.js")
    .map((name) => [name, clientFile(name)] as const),
]);

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** Rows of an answer that a page draws. */
const DRAWN_ROWS = 500;
const SAMPLES_A_PAGE = 50;

async function study(c: Context, board: Board): Promise<Response> {
  const name = c.req.param("study") ?? "";
  const submitted = board.queue.get(name);
  const { weights: _, ...query } = c.req.query(); // the page's script reads them
  const asked = checked(ListQuery, query);
  try {
    const row = await readStudy(board.stores, name);
    const trials = await listTrials(board.stores, name, asked);
    const store = await board.stores.of(name);
    const front = await readFront(store, name);
    const own = await readOwnPart(store, row);
    const { order, find } = asked;
    return await c.html(studyPage(row, trials, front, { order, find, own }));
  } catch (error) {
    if (submitted === undefined || !(error instanceof UsageError)) throw error;
    return await c.html(submittedPage(submitted));
  }
}

async function trial(c: Context, { stores }: Board): Promise<Response> {
  const [study_id, name] = [c.req.param("study") ?? "", c.req.param("trial") ?? ""];
  const { which, task, page } = checked(FlipsQuery, c.req.query());
  const row = await readTrial(stores, study_id, name);
  const baseline = row["baseline"];
  const own = trialId(study_id, name);
  const store = await stores.of(study_id);
  const curves = await readCurves(store, study_id, own);
  const samples = typeof baseline !== "string" || baseline === own ? null : await listFlips(
    store,
    [baseline, own],
    { which, task, page, page_size: SAMPLES_A_PAGE },
  );
  return await c.html(trialPage(row, samples, { which, task }, curves));
}

/** Two names of the form, or the two trials or studies that were marked in a list. */
function namesOf(c: Context): { first: string; second: string } {
  const [trials, studies] = [c.req.queries("trial") ?? [], c.req.queries("study") ?? []];
  const [marked, what] = studies.length > 0 ? [studies, "studies"] : [trials, "trials"];
  if (marked.length > 0 && marked.length !== 2) {
    throw new UsageError(`Cannot compare ${marked.length} ${what}: mark two of them`);
  }
  const [first = c.req.query("first") ?? "", second = c.req.query("second") ?? ""] = marked;
  return { first, second };
}

async function compare(c: Context, { stores }: Board): Promise<Response> {
  const names = namesOf(c);
  const { first: _, second: __, trial: ___, study: ____, ...rest } = c.req.query();
  const state = checked(FlipsQuery, rest);
  if (names.first === "" || names.second === "") return await c.html(comparePage(names, null));
  const studies = await compareStudies(stores, names.first, names.second);
  if (studies !== null) return await c.html(compareStudiesPage(studies));
  const { beside, store } = await readComparison(stores, names.first, names.second);
  const page_size = SAMPLES_A_PAGE;
  const samples = await listFlips(store, [names.first, names.second], { ...state, page_size });
  const [first, second] = await Promise.all(
    [names.first, names.second].map((name) =>
      readTrial(stores, name.slice(0, name.lastIndexOf("/")), name)
    ),
  );
  const found = { beside, trials: [first!, second!] as const, samples, state };
  return await c.html(comparePage(names, found));
}

async function sql(c: Context, { stores }: Board): Promise<Response> {
  const [asked, named] = [c.req.query("sql") ?? "", c.req.query("store") ?? ""];
  const state = { sql: asked, store: named, stores: stores.roots };
  try {
    const store = await stores.at(named);
    const views = await listViews(store);
    try {
      const answer = asked === "" ? null : await store.query(asked, { maxRows: DRAWN_ROWS });
      return await c.html(sqlPage({ ...state, views, answer, refused: null }));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      c.status(400);
      return await c.html(sqlPage({ ...state, views, answer: null, refused: error.message }));
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return await c.html(sqlPage({ ...state, views: [], answer: null, refused: error.message }));
  }
}

async function plan(c: Context, { stores }: Board): Promise<Response> {
  const { model = "", gpus = "", context = "", sequences = "", cache_type = "" } = c.req.query();
  const form = { model, gpus, context, sequences, cache_type };
  const given = Object.fromEntries(Object.entries(form).filter(([, value]) => value.trim() !== ""));
  if (Object.keys(given).length === 0) {
    return await c.html(planPage(form, { plan: null, refused: null }));
  }
  try {
    const asked = checked(PlanQuery, given);
    const found = await planModel({ store: stores.roots[0]!, ...asked }, Deno.env.toObject());
    return await c.html(planPage(form, { plan: found, refused: null }));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    c.status(400);
    return await c.html(planPage(form, { plan: null, refused: error.message }));
  }
}

async function asset(c: Context, name: string): Promise<Response> {
  const file = ASSETS.get(name);
  if (file === undefined) return await c.notFound();
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)]!;
  return new Response(await readFile(file, "utf8"), { headers: { "content-type": type } });
}

/** The pages, and the few files that they need. */
export function addPages(app: Hono, board: Board): void {
  app.get("/", async (c) => {
    const listed = await listStudies(board.stores);
    return await c.html(studiesPage(listed, board.queue.all(), board.stores.roots.length > 1));
  });
  app.get("/studies/:study", (c) => study(c, board));
  app.get("/studies/:study/trials/:trial", (c) => trial(c, board));
  app.get("/queue", (c) => c.html(queuePage(board.queue.all())));
  app.get("/compare", (c) => compare(c, board));
  app.get("/sql", (c) => sql(c, board));
  app.get("/plan", (c) => plan(c, board));
  app.get("/assets/:name", (c) => asset(c, c.req.param("name")));
  app.get("/favicon.ico", (c) => asset(c, "icon.svg")); // asked for before a page names its own
}
