import { z } from "zod";
import { PRIORITIES, StudyDocument } from "../../../core/mod.ts";
import { ServingPlan } from "../../../core/serving/plan/schema.ts";
import { StudiesBeside, TrialsBeside } from "../../show/json/json_shapes.ts";
import { QueuedJob } from "../../show/json/queue_shapes.ts";
import { DRAWN_FIGURES, FRONT_COSTS, FRONT_QUALITIES } from "../resources/figures.ts";
import { TRIAL_ORDERS } from "../resources/trials.ts";

// What the JSON interface takes and gives: requests are checked by these, and OpenAPI is made of them.

const Text = z.string().max(500);
const PageNumber = z.coerce.number().int().min(1).max(1e6).default(1);
const PageSize = z.coerce.number().int().min(1).max(500).default(100);
/** A row of SQL: columns are described by the views' comments. */
const Row = z.record(z.string(), z.unknown()).describe("a row of SQL by column; see /api/views");
const NoQuery = z.strictObject({});

const said = z.array(z.string()).describe("the last lines that its program printed");

const StudyLineShape = z.strictObject({
  study_id: z.string(),
  kind: z.string().nullable().describe("of run; null: another tracker's"),
  store: z.string().describe("the folder of the store that holds it"),
  model_name: z.string(),
  dataset: z.string(),
  opened_at: z.iso.datetime().nullable(),
  trials: z.int(),
  state: z.enum(["waiting", "starting", "running", "interrupted", "ended"]),
  stop: z.string().nullable().describe("why it ended; null: it did not yet"),
  source: z.string().describe("pare, or the tracker that it was imported from"),
  said: said.optional().describe("of one that was submitted here and has recorded nothing"),
  reason: z.string().optional().describe("why one that recorded nothing stands where it does"),
});

const JobShape = QueuedJob.extend({ said });

const Rows = z.object({
  rows: z.array(Row),
  total: z.int().describe("rows of the whole list"),
  page: z.int(),
  page_size: z.int(),
});

export const QueryBody = z.strictObject({
  sql: z.string().max(100_000).describe("one statement that only reads"),
  params: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional()
    .describe("values by name, for $name"),
  max_rows: z.int().min(1).max(100_000).default(1_000),
  timeout_seconds: z.number().positive().max(120).default(30),
  store: Text.optional().describe("one of the board's stores; default: the first"),
});

const QueryAnswer = z.object({
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(Row),
  capped: z.boolean().describe("there are more rows"),
  stale: z.string().nullable().describe("why what was recorded last is not in the answer"),
});

export const NoteBody = z.strictObject({
  text: z.string().min(1).max(10_000).describe("a word such as #keep in it is a tag"),
});

export const ErrorShape = z.strictObject({
  error: z.string().describe("a sentence: what was attempted, why not, what to do"),
});

export interface Operation {
  readonly method: "get" | "post" | "delete";
  /** As Hono has it, `:study` being a parameter. */
  readonly path: string;
  readonly summary: string;
  readonly query: z.ZodObject;
  readonly body?: z.ZodType;
  /** Of a JSON answer; a text: its media type. */
  readonly answer: z.ZodType | string;
  readonly status: 200 | 202;
}

const of = (
  method: Operation["method"],
  path: string,
  summary: string,
  answer: Operation["answer"],
  more: Partial<Operation> = {},
): Operation => ({ method, path, summary, answer, query: NoQuery, status: 200, ...more });

export const SubmitQuery = z.strictObject({
  store: Text.optional(),
  priority: z.enum(PRIORITIES).default("P1").describe(
    "P0 begins at once, P2 when nothing else waits",
  ),
  title: Text.optional(),
});
export const JobChange = z.union([
  z.strictObject({ hold: z.string().min(1).max(500).describe("why it waits for a person") }),
  z.strictObject({ release: z.literal(true).describe("end a hold") }),
  z.strictObject({
    priority: z.enum(PRIORITIES).nullable().default(null).describe("null: the one it has"),
    before: Text.nullable().default(null).describe("the job that it goes before; null: the end"),
  }),
]);
export const ListQuery = z.strictObject({
  order: z.enum(TRIAL_ORDERS as [string, ...string[]]).default("rank"),
  find: Text.default("").describe("in a trial's name, methods or state"),
  page: PageNumber,
  page_size: PageSize,
});
export const FlipsQuery = z.strictObject({
  reference: Text.optional().describe("a trial's whole name; default: the study's baseline"),
  which: z.enum(["won", "lost", "changed"]).default("changed"),
  task: Text.default(""),
  page: PageNumber,
  page_size: PageSize,
});
export const CompareQuery = z.strictObject({ first: Text, second: Text });
export const WeighQuery = z.strictObject({
  weights: Text.describe("such as accuracy=0.8,latency=0.1,memory=0.1"),
});
export const FigureQuery = z.strictObject({
  width: z.coerce.number().min(390).max(1600).default(800),
  quality: z.enum(FRONT_QUALITIES).optional().describe("of pareto: what is drawn upwards"),
  cost: z.enum(FRONT_COSTS).optional().describe("of pareto: the one cost; default: the objectives"),
  paired: z.enum(["true", "false"]).default("true").describe(
    "of pareto: less the baseline's on the same samples",
  ),
});
const Whole = z.coerce.number().int().positive();
export const PlanQuery = z.strictObject({
  model: Text.describe("a folder, a config.json, a trial, or a name of the hub"),
  gpus: Text.describe("such as 8xH100-80"),
  context: Whole.optional().describe("tokens of a sequence; default: the longest that fits"),
  sequences: Whole.optional().describe("held at once at that context; default: 1"),
  utilization: z.coerce.number().optional().describe("of a card; default: 0.92"),
  cache_type: Text.optional().describe("default: as the model asks"),
  tensor_parallel: Whole.optional(),
  pipeline_parallel: Whole.optional(),
});
export const EventsQuery = z.strictObject({
  from: z.coerce.number().int().min(0).optional()
    .describe("position of the last event known; Last-Event-ID says the same; default: now"),
});

/** Every operation of the JSON interface, by name. */
export const OPERATIONS = {
  listStudies: of("get", "/api/studies", "Studies, the newest first", z.array(StudyLineShape)),
  submitStudy: of(
    "post",
    "/api/studies",
    "Put a study document in line",
    JobShape,
    {
      body: StudyDocument,
      query: SubmitQuery,
      status: 202,
    },
  ),
  readStudy: of("get", "/api/studies/:study", "A study: what was asked, how it stands", Row),
  stopStudy: of(
    "delete",
    "/api/studies/:study",
    "Take a study out of the queue, or end it as Ctrl-C does",
    JobShape,
    { status: 202 },
  ),
  listQueue: of(
    "get",
    "/api/queue",
    "What runs, waits, is blocked and has ended",
    z.array(JobShape),
  ),
  changeJob: of(
    "post",
    "/api/studies/:study/job",
    "Hold a study in line, release it, or move it",
    JobShape,
    { body: JobChange, status: 202 },
  ),
  listTrials: of("get", "/api/studies/:study/trials", "Trials of a study", Rows, {
    query: ListQuery,
  }),
  readFront: of(
    "get",
    "/api/studies/:study/front",
    "Trials that may stand on the front",
    z.array(Row),
  ),
  weigh: of("get", "/api/studies/:study/weigh", "What other weights would pick", Row, {
    query: WeighQuery,
  }),
  drawFigure: of(
    "get",
    "/api/studies/:study/figures/:figure",
    `A figure of a study: ${DRAWN_FIGURES.join(", ")}`,
    "image/svg+xml",
    { query: FigureQuery },
  ),
  studyEvents: of(
    "get",
    "/api/studies/:study/events",
    "Records of the journal as they are written",
    "text/event-stream",
    { query: EventsQuery },
  ),
  readTrial: of("get", "/api/studies/:study/trials/:trial", "A trial: recipe, figures, files", Row),
  listFlips: of(
    "get",
    "/api/studies/:study/trials/:trial/samples",
    "Samples that the trial won from another, or lost to it",
    Rows,
    { query: FlipsQuery },
  ),
  compare: of(
    "get",
    "/api/compare",
    "Two trials or two studies beside each other",
    z.union([TrialsBeside, StudiesBeside]),
    {
      query: CompareQuery,
    },
  ),
  plan: of("get", "/api/plan", "What it takes to serve a model", ServingPlan, {
    query: PlanQuery,
  }),
  query: of("post", "/api/query", "Ask a store in SQL", QueryAnswer, { body: QueryBody }),
  listViews: of(
    "get",
    "/api/views",
    "Tables and views with their columns and what they mean",
    z.array(Row),
  ),
  noteStudy: of(
    "post",
    "/api/studies/:study/notes",
    "Keep a sentence with a study",
    z.strictObject({ said: z.string() }),
    {
      body: NoteBody,
    },
  ),
  noteTrial: of(
    "post",
    "/api/studies/:study/trials/:trial/notes",
    "Keep a sentence with a trial",
    z.strictObject({ said: z.string() }),
    { body: NoteBody },
  ),
} satisfies Record<string, Operation>;
