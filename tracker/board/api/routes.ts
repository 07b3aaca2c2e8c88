import { type Context, Hono } from "hono";
import { unknownName } from "../../../core/mod.ts";
import { PARE_VERSION } from "../../lab/provenance.ts";
import { planModel } from "../../lab/serving/plan_model.ts";
import { takeNote } from "../../store/take_note.ts";
import { toJson } from "../../store/journal/record_line.ts";
import type { Board } from "../board.ts";
import type { BoardJob } from "../board_queue.ts";
import { Refused } from "../refused.ts";
import { listViews } from "../resources/list_views.ts";
import { listStudies, readStudy } from "../resources/studies.ts";
import { drawFigure, DRAWN_FIGURES, readFront } from "../resources/figures.ts";
import {
  compareStudies,
  listFlips,
  listTrials,
  readComparison,
  readTrial,
  trialId,
} from "../resources/trials.ts";
import { weighStudy } from "../resources/weighed.ts";
import { eventStream } from "./events.ts";
import { openApi } from "./openapi.ts";
import {
  CompareQuery,
  EventsQuery,
  FigureQuery,
  FlipsQuery,
  JobChange,
  ListQuery,
  NoteBody,
  PlanQuery,
  QueryBody,
  SubmitQuery,
  WeighQuery,
} from "./operations.ts";
import { checked, readJson } from "./read_request.ts";

/** NaN and the infinities as the strings of the journal and of `pare sql --format json`. */
function json(value: unknown, status = 200): Response {
  return new Response(toJson(value), {
    status,
    headers: { "content-type": "application/json; charset=utf-8" },
  });
}

/** The trial that a comparison is with where none is named: the study's baseline. */
async function referenceOf(board: Board, study: string, named: string | undefined) {
  if (named !== undefined) return trialId(study, named);
  const { rows: [row] } = await listTrials(board.stores, study, {
    ...{ order: "number", page: 1, page_size: 1 },
  });
  if (row === undefined) throw new Refused(404, `Cannot find a trial in ${study}: none has begun`);
  return String(row["trial_id"]);
}

async function stopStudy({ queue, stores }: Board, study: string): Promise<Response> {
  const job = queue.get(study);
  if (job !== undefined && job.section !== "ended") return json(await queue.cancel(study), 202);
  const row = job === undefined ? await readStudy(stores, study) : null;
  const why = row?.["state"] === "running"
    ? "it was not put in line: stop it where it runs, by Ctrl-C"
    : "it does not run";
  throw new Refused(409, `Cannot stop ${study} as ${why}`);
}

/** How a study of the queue stands that has recorded nothing yet. */
function stateOf({ section }: BoardJob): "waiting" | "starting" | "ended" {
  return section === "running" ? "starting" : section === "ended" ? "ended" : "waiting";
}

function changed({ queue }: Board, study: string, body: unknown): Promise<BoardJob> {
  const change = checked(JobChange, body);
  if ("hold" in change) return queue.hold(study, change.hold);
  return "release" in change ? queue.release(study) : queue.move(study, change);
}

async function note(board: Board, name: string, study: string, c: Context): Promise<Response> {
  const { text } = checked(NoteBody, await readJson(c));
  const store = await board.stores.of(study);
  await takeNote(store, name, text);
  return json({ said: `noted for ${name}` });
}

function addStudies(app: Hono, board: Board): void {
  const { stores, queue } = board;
  app.get("/api/studies", async () => {
    const { answers: recorded, refused } = await listStudies(stores);
    if (refused[0] !== undefined) throw refused[0]; // a program is told of what is missing
    const known = new Set(recorded.map(({ study_id }) => study_id));
    const unrecorded = queue.all().filter(({ study_id }) => !known.has(study_id)).map((one) => ({
      ...{ study_id: one.study_id, kind: one.kind, store: one.store, model_name: one.model_name },
      ...{ dataset: one.dataset, opened_at: null, trials: 0, state: stateOf(one) },
      stop: one.section === "ended" ? one.state : null,
      ...{ source: "pare", said: one.said, reason: one.reason },
    }));
    return json([...unrecorded, ...recorded]);
  });
  app.post("/api/studies", async (c) => {
    const { store: named, title, ...place } = checked(SubmitQuery, c.req.query());
    const root = named ?? stores.roots[0]!;
    if (!stores.roots.includes(root)) {
      throw new Refused(404, unknownName("store", root, [...stores.roots]));
    }
    const options = { ...place, ...title === undefined ? {} : { title } };
    return json(await queue.submit(await readJson(c), root, options), 202);
  });
  app.get("/api/queue", () => json(queue.all()));
  app.post(
    "/api/studies/:study/job",
    async (c) => json(await changed(board, c.req.param("study"), await readJson(c)), 202),
  );
  app.get("/api/studies/:study", async (c) => {
    const study = c.req.param("study");
    const submitted = queue.get(study);
    try {
      return json({ ...await readStudy(stores, study), submitted: submitted ?? null });
    } catch (error) {
      if (submitted === undefined) throw error;
      return json({ study_id: study, state: stateOf(submitted), submitted });
    }
  });
  app.delete("/api/studies/:study", (c) => stopStudy(board, c.req.param("study")));
  app.get("/api/studies/:study/front", async (c) => {
    const study = c.req.param("study");
    return json(await readFront(await stores.of(study), study));
  });
  app.get("/api/studies/:study/weigh", async (c) => {
    const { weights } = checked(WeighQuery, c.req.query());
    return json(await weighStudy(stores, c.req.param("study"), weights));
  });
  app.get("/api/studies/:study/figures/:figure", async (c) => {
    const { paired, ...how } = checked(FigureQuery, c.req.query());
    const name = c.req.param("figure");
    const figure = DRAWN_FIGURES.find((one) => one === name);
    if (figure === undefined) throw new Refused(404, unknownName("figure", name, DRAWN_FIGURES));
    const svg = await drawFigure(stores, c.req.param("study"), figure, {
      ...how,
      paired: paired === "true",
    });
    // Its own styles and nothing else: opened as a page of its own it runs no script.
    const headers = {
      "content-type": "image/svg+xml; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    };
    return new Response(svg, { headers });
  });
  app.get("/api/studies/:study/events", async (c) => {
    const study = c.req.param("study");
    // One that waits in line has recorded nothing yet: what it will is heard of, too.
    const root = queue.get(study)?.store ?? (await stores.of(study)).paths.root;
    const last = c.req.header("last-event-id");
    const { from } = checked(EventsQuery, last === undefined ? c.req.query() : { from: last });
    const watched = { root, study_id: study };
    const stream = eventStream(board.watch, watched, from ?? null, board.ending);
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  });
  app.post(
    "/api/studies/:study/notes",
    (c) => note(board, c.req.param("study"), c.req.param("study"), c),
  );
}

function addTrials(app: Hono, board: Board): void {
  const { stores } = board;
  const at = "/api/studies/:study/trials" as const;
  app.get(at, async (c) => {
    const asked = checked(ListQuery, c.req.query());
    return json(await listTrials(stores, c.req.param("study"), asked));
  });
  app.get(
    `${at}/:trial`,
    async (c) => json(await readTrial(stores, c.req.param("study"), c.req.param("trial"))),
  );
  app.get(`${at}/:trial/samples`, async (c) => {
    const { reference, ...asked } = checked(FlipsQuery, c.req.query());
    const [study, trial] = [c.req.param("study"), c.req.param("trial")];
    const first = await referenceOf(board, study, reference);
    const names = [first, trialId(study, trial)] as const;
    return json(await listFlips(await stores.of(study), names, asked));
  });
  app.post(`${at}/:trial/notes`, (c) => {
    const study = c.req.param("study");
    return note(board, trialId(study, c.req.param("trial")), study, c);
  });
}

function addQueries(app: Hono, { stores }: Board): void {
  app.get("/api/compare", async (c) => {
    const { first, second } = checked(CompareQuery, c.req.query());
    const studies = await compareStudies(stores, first, second);
    return json(studies ?? (await readComparison(stores, first, second)).beside);
  });
  app.get("/api/plan", async (c) => {
    const asked = checked(PlanQuery, c.req.query());
    return json(await planModel({ store: stores.roots[0]!, ...asked }, Deno.env.toObject()));
  });
  app.post("/api/query", async (c) => {
    const { sql, params, max_rows, timeout_seconds, store } = checked(QueryBody, await readJson(c));
    return json(
      await (await stores.at(store)).query(sql, {
        ...{ maxRows: max_rows, timeoutMs: timeout_seconds * 1000 },
        ...(params === undefined ? {} : { params }),
      }),
    );
  });
  app.get("/api/views", async () => json(await listViews(await stores.at(undefined))));
  app.get("/api/openapi.json", () => json(openApi(PARE_VERSION)));
}

/** The JSON interface. */
export function addApi(app: Hono, board: Board): void {
  addStudies(app, board);
  addTrials(app, board);
  addQueries(app, board);
}
