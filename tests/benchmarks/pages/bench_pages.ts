/**
 * What a reader of pages waits for: the board's first view of many trials, an event on an open page, the
 * report of many trials. The records are synthetic and go through the journal; the processes are pare's own.
 *
 *     deno task bench:pages            # some minutes, most of them writing the store
 *     deno task bench:pages --quick    # a tenth of the trials: tries the benchmark itself
 *     deno task bench:pages --store S  # keeps the store in the folder S, for the next run
 */
import { execa } from "execa";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { findEnvironment } from "../../../python-backends/environments/environments.ts";
import { type BenchRow, benchTable, median } from "../bench_table.ts";
import { manyTrials } from "./many_trials.ts";
import {
  answerSeconds,
  type BoardProcess,
  boardProcess,
  eventSeconds,
  firstView,
  ownBrowser,
  reportWritten,
} from "./own_pages.ts";

const [MANY, REPORTED] = ["many", "reported"];
const REPEATS = 7;
const EVENTS = 20;
/** Rows of MLflow's table of runs; the board's has as many as it shows at first. */
const SHOWN = 50;

const say = (text: string) => console.error(`bench: ${text}`);

/** Least, most, and the load that they met. */
function spread(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const load = Deno.loadavg()[0]!.toFixed(1);
  return `${values.length} repeats, median; ${low.toFixed(2)} to ${
    high.toFixed(2)
  } s; load ${load}`;
}

const Searched = z.strictObject({ version: z.string(), search_s: z.number() });

/** MLflow's search over as many runs, where its environment is there; null: it is not. */
async function mlflowSearch(folder: string, runs: number) {
  const found = await findEnvironment("mlflow");
  if (found === null) return null;
  const [asked, told] = [join(folder, "request.json"), join(folder, "result.json")];
  await writeFile(asked, JSON.stringify({ folder, runs, shown: SHOWN }));
  const script = fileURLToPath(new URL("mlflow_search.py", import.meta.url));
  const run = await execa(found.python, [script, asked, told], {
    cwd: folder,
    env: { MLFLOW_DISABLE_TELEMETRY: "true", DO_NOT_TRACK: "1", PYTHONDONTWRITEBYTECODE: "1" },
    stdin: "ignore",
    reject: false,
    all: true,
  });
  if (run.failed) {
    say(`MLflow is left out: ${run.all.trimEnd().split("\n").at(-1)}`);
    return null;
  }
  return Searched.parse(JSON.parse(await readFile(told, "utf8")));
}

async function repeated(work: () => Promise<number>): Promise<number[]> {
  const seconds: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) seconds.push(await work());
  return seconds;
}

type Peer = z.infer<typeof Searched> | null;

async function answerRows(board: BoardProcess, trials: number, peer: Peer): Promise<BenchRow[]> {
  const page = `/studies/${MANY}`;
  const first = await answerSeconds(board, page); // its processes start, the database is opened
  const answers = await repeated(() => answerSeconds(board, page));
  const list = await repeated(() =>
    answerSeconds(board, `/api/studies/${MANY}/trials?order=accuracy&page_size=${SHOWN}`)
  );
  const beside = peer === null
    ? {}
    : { peer: peer.search_s, peer_name: `MLflow ${peer.version}, ${SHOWN} runs by a metric` };
  const what = `of a study of ${trials} trials`;
  return [
    { what: `the page ${what}, the first after the start`, figure: first, unit: "s", how: "once" },
    { what: `the page ${what}`, figure: median(answers), unit: "s", how: spread(answers) },
    {
      what: `its best ${SHOWN} by accuracy, as JSON`,
      ...{ figure: median(list), unit: "s", ...beside, how: spread(list) },
    },
  ];
}

async function browserRows(board: BoardProcess, store: string, trials: number) {
  await using browser = await ownBrowser();
  if (browser === null) {
    say("Chromium is not installed: nothing is timed in a browser");
    return [];
  }
  const page = await browser.newPage();
  await page.goto(board.url);
  await page.waitForURL(`${board.address}/`);
  const views = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    views.push(await firstView(page, `${board.address}/studies/${MANY}`));
  }
  const [painted, whole] = [views.map((one) => one.painted), views.map((one) => one.whole)];
  say(`${EVENTS} events`);
  const events = await eventSeconds(page, board, store, `live-${Date.now()}`, EVENTS);
  const goal = { under: 1 };
  const first = `first view of ${trials} trials in Chromium`;
  const event = "an event on the page after its record is on disk";
  const rows: BenchRow[] = [
    { what: `${first}: painted`, figure: median(painted), unit: "s", how: spread(painted) },
    {
      what: `${first}: with its front`,
      figure: median(whole),
      unit: "s",
      goal,
      how: spread(whole),
    },
    { what: event, figure: median(events), unit: "s", goal, how: spread(events) },
    {
      what: `${event}, the worst`,
      figure: Math.max(...events),
      unit: "s",
      goal,
      how: spread(events),
    },
  ];
  return rows;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { quick: { type: "boolean", default: false }, store: { type: "string" } },
  });
  const [trials, reported] = values.quick ? [1_000, 100] : [10_000, 1_000];
  const load = Deno.loadavg()[0]!;
  const folder = await Deno.makeTempDir({ prefix: "bench-pages-" });
  try {
    const store = resolve(values.store ?? join(folder, "store"));
    const apart = `${store}-${REPORTED}`; // a report reads its store's whole journal
    for (
      const [root, study_id, count] of [[store, MANY!, trials], [
        apart,
        REPORTED!,
        reported,
      ]] as const
    ) {
      if (existsSync(root)) continue;
      say(`${count} trials are recorded`);
      await manyTrials(root, study_id, count);
    }
    say("MLflow");
    const peer = await mlflowSearch(folder, trials);
    const rows: BenchRow[] = [];
    {
      await using board = await boardProcess(store);
      say("the board");
      rows.push(...await answerRows(board, trials, peer));
      rows.push(...await browserRows(board, store, trials));
    }
    say(`the report of ${reported} trials`);
    const report = await reportWritten(apart, REPORTED!, join(folder, "report"));
    rows.push({
      what: `pare report of ${reported} trials, its ${(report.bytes / 1e6).toFixed(1)} MB of page`,
      ...{ figure: report.seconds, unit: "s", goal: { under: 5 } },
      how: `once, from the command's start to its end; load ${Deno.loadavg()[0]!.toFixed(1)}`,
    });
    console.log(`\n${benchTable(rows)}\n\nload average at the start ${load.toFixed(1)}\n`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await main();
