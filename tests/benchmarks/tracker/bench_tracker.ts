/**
 * Measures this tracker through its own API beside other trackers, in one run; prints a table.
 *
 *     deno task bench:tracker            # about ten minutes, most of them MLflow's
 *     deno task bench:tracker --quick    # a tenth of everything: tries the benchmark itself
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ownBatches, ownCalls, ownSeries, ownSingle } from "./own_points.ts";
import { ownRecovery } from "./own_recovery.ts";
import { ownShelf } from "./own_shelf.ts";
import { ownTrials } from "./own_trials.ts";
import { measurePeers, type Peers, type Sizes } from "./peers.ts";
import { type RatioRow, ratioTable } from "./ratio_table.ts";

/** Runs of a store that is opened. */
const SHELF = { full: 1_000, quick: 100 };

const FULL: Sizes = {
  points: 1_000_000,
  calls: 5_000,
  singles: 500,
  runs: 10_000,
  rows: 10_000_000,
  repeats: 5,
};
const QUICK: Sizes = {
  points: 100_000,
  calls: 5_000,
  singles: 100,
  runs: 1_000,
  rows: 1_000_000,
  repeats: 3,
};

const say = (text: string) => console.error(`bench: ${text}`);

async function measureOwn(folder: string, sizes: Sizes, studies: number) {
  const { points, calls, singles, runs, rows, repeats } = sizes;
  say(`pare: ${points} points in batches`);
  const small = await ownBatches(join(folder, "batches-1000"), points, 1_000);
  const root = join(folder, "batches-10000");
  const large = await ownBatches(root, points, 10_000);
  const series = await ownSeries(root, 7);
  say(`pare: ${calls} calls, ${singles} single points`);
  const called = await ownCalls(join(folder, "calls"), calls, repeats);
  const single_ms = await ownSingle(join(folder, "single"), singles);
  say(`pare: ${runs} trials`);
  const trials = await ownTrials(join(folder, "trials"), runs);
  say(`pare: ${rows} rows, a kill, opening`);
  const recovery = await ownRecovery(folder, rows);
  say(`pare: a store of ${studies} runs`);
  const shelf = await ownShelf(join(folder, "shelf"), studies, repeats);
  return { small, large, series, called, single_ms, trials, recovery, shelf };
}
type Own = Awaited<ReturnType<typeof measureOwn>>;

function logRows(own: Own, { trackio, optuna, mlflow }: Peers, sizes: Sizes): RatioRow[] {
  const unit = "points/s";
  const mlflowRate = { name: "MLflow, 1,000 a batch", figure: mlflow.points / mlflow.points_s };
  const trackioRate = { name: "trackio, written", figure: 2 * trackio.calls / trackio.written_s };
  const askedRate = {
    name: "trackio, not yet written",
    figure: 2 * trackio.calls / trackio.asked_s,
  };
  const optunaRate = { name: "Optuna journal", figure: optuna.calls / optuna.seconds };
  const [small, large] = [own.small, own.large].map(({ seconds }) => sizes.points / seconds);
  const calls = 2 * sizes.calls / own.called.seconds;
  const batches = "log in batches of";
  const one = "log one step a call";
  return [
    { what: `${batches} 10,000`, ours: large!, unit, peer: mlflowRate, goal: { times: 100 } },
    { what: `${batches} 10,000`, ours: large!, unit, peer: trackioRate, goal: { times: 10 } },
    { what: `${batches} 1,000`, ours: small!, unit, peer: mlflowRate, goal: { times: 100 } },
    { what: `${batches} 1,000`, ours: small!, unit, peer: trackioRate, goal: { times: 10 } },
    { what: one, ours: calls, unit, peer: trackioRate, goal: { times: 3 } },
    { what: one, ours: calls, unit, peer: askedRate, goal: null },
    { what: one, ours: calls, unit, peer: mlflowRate, goal: null },
    { what: one, ours: calls, unit, peer: optunaRate, goal: null },
  ];
}

function otherRows(own: Own, { optuna, mlflow }: Peers, sizes: Sizes): RatioRow[] {
  const ms = "ms";
  const single = {
    what: "log one point, durable (median)",
    ours: own.single_ms,
    unit: ms,
  } as const;
  const board = {
    what: `leaderboard of ${sizes.runs} trials × 20 metrics, top 100`,
    ours: own.trials.query_ms,
    unit: ms,
    peer: { name: "MLflow's search", figure: mlflow.search_ms },
  } as const;
  return [
    ...[own.small, own.large, own.called].map(({ lag_s }, at): RatioRow => ({
      what: `index lag after ${["batches of 1,000", "batches of 10,000", "single calls"][at]}`,
      ours: lag_s,
      unit: "s",
      peer: null,
      goal: { under: 1 },
    })),
    { ...single, peer: { name: "MLflow, HTTP", figure: mlflow.one_ms }, goal: { under: 1 } },
    { ...single, peer: { name: "Optuna journal", figure: optuna.one_ms }, goal: null },
    { ...board, goal: { under: 50 } },
    { ...board, goal: { times: 100 } },
    {
      what: `series of ${sizes.points} points to 1,000`,
      ours: own.series.ms,
      unit: ms,
      peer: { name: "MLflow's sampled history", figure: mlflow.series_ms },
      goal: { under: 100 },
    },
    {
      what: `open ${sizes.rows} rows after kill -9, first point on disk`,
      ours: own.recovery.first_point_ms,
      unit: ms,
      peer: null,
      goal: { under: 1_000 },
    },
    {
      what: `open a store of ${own.shelf.runs} runs, their names known (median)`,
      ours: own.shelf.open_ms,
      unit: ms,
      peer: null,
      goal: { under: 300 },
    },
    {
      what: "disk: journal + DuckDB",
      ours: own.large.bytes / sizes.points,
      unit: "bytes/point",
      peer: { name: "MLflow's SQLite", figure: mlflow.bytes / mlflow.points },
      goal: { times: 2 },
    },
  ];
}

function notes(own: Own, { trackio, optuna, mlflow }: Peers, load: number, quick: boolean) {
  const seconds = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} s`;
  return [
    ...(quick
      ? ["--quick: a tenth of the points, runs and rows; the goals are for the whole"]
      : []),
    `MLflow ${mlflow.version} (a server of its own, SQLite; its figures include HTTP), trackio ` +
    `${trackio.version}, Optuna ${optuna.version}; load average at the start ${load.toFixed(1)}`,
    "ours: acknowledged = on disk (fdatasync). Batches wait for each other; single calls gather " +
    `and only the last is waited for, as trackio's do. trackio's ${trackio.calls} calls of two ` +
    `metrics: ${seconds(trackio.asked_s)} until they returned, ${seconds(trackio.written_s)} ` +
    "until they were in its file",
    `MLflow's runs: 50 through its client, ${mlflow.one_run_ms.toFixed(0)} ms each; the others ` +
    `are copies of their rows (${seconds(mlflow.copied_s)}). Ours: ${seconds(own.trials.fill_s)} ` +
    `through record() until in the index; ${own.trials.found} found, MLflow ${mlflow.search_found}`,
    `the list of the ${own.shelf.runs} runs, by the index: ${own.shelf.list_ms.toFixed(0)} ms`,
    `opened in ${own.recovery.open_ms.toFixed(0)} ms with half of the rows not yet in the index; ` +
    `that had them ${seconds(own.recovery.caught_up_s)} later`,
  ];
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
  const sizes = values.quick ? QUICK : FULL;
  const load = Deno.loadavg()[0]!;
  const folder = await Deno.makeTempDir({ prefix: "bench-tracker-" });
  try {
    const own = await measureOwn(folder, sizes, values.quick ? SHELF.quick : SHELF.full);
    const peers = await measurePeers(sizes, say);
    console.log(
      `\n${ratioTable([...logRows(own, peers, sizes), ...otherRows(own, peers, sizes)])}\n`,
    );
    for (const note of notes(own, peers, load, values.quick)) console.log(`${note}\n`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) await main();
