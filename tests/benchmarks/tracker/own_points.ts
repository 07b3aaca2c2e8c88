import { openStore, type Store } from "../../../tracker/store/store.ts";
import { shelfBytes } from "../../../tracker/store/shelf/shelf.ts";
import { median } from "../bench_table.ts";

const START_MS = 1_767_225_600_000; // 2026-01-01, a point a millisecond
const GOLDEN = 0.6180339887498949;

/** A falling loss with noise in all of its digits; peer_points.py has the same. */
export function value(step: number): number {
  return 2.5 * Math.exp(-step / 300_000) + 0.05 * ((step * GOLDEN) % 1);
}

/** `rows` points of one metric from a step on. */
function columns(from: number, rows: number) {
  const loss = Float64Array.from({ length: rows }, (_, index) => value(from + index));
  const happened_at = Float64Array.from({ length: rows }, (_, index) => START_MS + from + index);
  return { loss, happened_at };
}

/** Seconds that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

/** Seconds until the index has everything, by itself: nobody asks for it. */
export async function lagSeconds(store: Store): Promise<number> {
  return await timed(async () => {
    for (;;) {
      const { journal_bytes, database_bytes } = await store.status();
      if (database_bytes >= journal_bytes) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
}

/** A million points of one metric in batches, each acknowledged before the next is given. */
export interface OwnBatches {
  readonly batch: number;
  readonly seconds: number;
  /** From the last acknowledgement until the index has all. */
  readonly lag_s: number;
  /** Journal and database after closing. */
  readonly bytes: number;
}

/** Opens a store whose index has its tables already: making them is no part of a lag. */
async function openUsed(root: string): Promise<Store> {
  const store = await openStore(root, { write: true });
  await store.openRun({ study_id: "first", trial_id: "first/t00" }).log({ loss: 0 }, { step: 0 });
  await store.flush();
  return store;
}

/** Logs `points` points in batches of `batch` into a new store. */
export async function ownBatches(root: string, points: number, batch: number): Promise<OwnBatches> {
  const parts = Array.from({ length: points / batch }, (_, n) => columns(n * batch, batch));
  const store = await openUsed(root);
  const run = store.openRun({ study_id: "points", trial_id: "points/t00" });
  const seconds = await timed(async () => {
    for (const [n, { loss, happened_at }] of parts.entries()) {
      await run.logBatch({ loss }, { step: n * batch, happened_at });
    }
  });
  const lag_s = await lagSeconds(store);
  await store.close();
  return { batch, seconds, lag_s, bytes: await bytesOf(store) };
}

async function bytesOf({ paths }: Store): Promise<number> {
  let bytes = shelfBytes(paths);
  for (const path of [paths.database, `${paths.database}.wal`]) {
    bytes += await Deno.stat(path).then(({ size }) => size, () => 0);
  }
  return bytes;
}

/** Seconds of `calls` calls of two metrics until the last is on disk; the median of the repeats. */
export async function ownCalls(root: string, calls: number, repeats: number) {
  await using store = await openUsed(root);
  const seconds: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const run = store.openRun({ study_id: "calls", trial_id: `calls/t${repeat}` });
    seconds.push(
      await timed(async () => {
        let last: Promise<void> | undefined;
        for (let step = 0; step < calls; step++) {
          last = run.log({ loss: value(step), rate: 1e-3 }, { step });
        }
        await last;
      }),
    );
  }
  const lag_s = await lagSeconds(store);
  return { seconds: median(seconds), lag_s };
}

/** Median milliseconds of logging one point and waiting until it is on disk. */
export async function ownSingle(root: string, calls: number): Promise<number> {
  await using store = await openStore(root, { write: true });
  const run = store.openRun({ study_id: "single", trial_id: "single/t00" });
  const times: number[] = [];
  for (let step = 0; step < calls; step++) {
    times.push(1000 * await timed(() => run.log({ loss: value(step) }, { step })));
  }
  return median(times);
}

/** Median milliseconds, warm, of a whole series down-sampled to a thousand points. */
export async function ownSeries(root: string, repeats: number) {
  await using store = await openStore(root, { write: true });
  const key = { study_id: "points", trial_id: "points/t00", metric: "loss" };
  await store.take(key.study_id); // as a session holds the study that it runs
  const ask = () => store.series(key, { points: 1_000 });
  const points = (await ask()).points.length;
  if (points < 500 || points > 1_000) throw new Error(`Cannot trust the series: ${points} points`);
  const times: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) times.push(1000 * await timed(ask));
  return { ms: median(times), points };
}
