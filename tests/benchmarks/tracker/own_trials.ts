import type { JournalRecord, Measurement } from "../../../core/mod.ts";
import { openStore, type Store } from "../../../tracker/store/store.ts";
import { median } from "../bench_table.ts";
import { AT, measurement, studyOpened, trial } from "../../fixtures/stores/records.ts";
import { timed } from "./own_points.ts";

const STUDY = "trials";
const METRICS = 20;
const NAMED = ["accuracy", "reward", "perplexity", "latency_ms", "size_bytes"];

/** A number in [0, 1) that looks like chance (the last steps of MurmurHash3); see mlflow_runs.py. */
function figure(number: number, place: number): number {
  let mixed = Math.imul(number * METRICS + place + 1, 0x9e3779b1) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 0;
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
}

/** Twenty metrics of a trial, the same as mlflow_runs.py logs. */
function measurementsOf(number: number): Measurement[] {
  const others = Array.from({ length: METRICS - NAMED.length }, (_, index) => `metric_${index}`);
  return [...NAMED, ...others].map((name, place) => measurement(name, figure(number, place)));
}

/** A finished trial as the loop records it. */
function trialRecords(number: number): JournalRecord[] {
  const measurements = measurementsOf(number);
  const figures = { number, accuracy: 0, latency_ms: 0, size_bytes: 0, study_id: STUDY };
  const reward = { value: measurements[1]!.value, terms: [] };
  const closed = { ...trial(figures), measurements, reward, constraints: [] };
  const { trial_id, strategy } = closed;
  return [
    { type: "trial_opened", at: AT, study_id: STUDY, trial_id, number, strategy },
    { type: "trial_closed", at: AT, trial: closed },
  ];
}

const LEADERBOARD = `SELECT trial_id, reward, accuracy, perplexity, latency_ms, size_bytes
  FROM leaderboard_wide WHERE study_id = '${STUDY}' AND accuracy > 0.7 ORDER BY reward DESC LIMIT 100`;

/** Median milliseconds of the leaderboard's answer, warm, and of recording one trial. */
export interface OwnTrials {
  readonly query_ms: number;
  readonly found: number;
  readonly fill_s: number;
}

async function ask(store: Store): Promise<number> {
  const { rows } = await store.query(LEADERBOARD);
  const rewards = rows.map((row) => Number(row["reward"]));
  if (rewards.some((reward, at) => at > 0 && reward > rewards[at - 1]!)) {
    throw new Error("Cannot trust the leaderboard: it is not in order");
  }
  return rows.length;
}

/** Records `trials` finished trials of 20 metrics each and asks for the best hundred. */
export async function ownTrials(root: string, trials: number): Promise<OwnTrials> {
  await using store = await openStore(root, { write: true });
  await store.take(STUDY); // as a session holds the study that it runs
  const fill_s = await timed(async () => {
    await store.record(studyOpened(STUDY));
    for (let first = 0; first < trials; first += 500) {
      const some = Array.from({ length: 500 }, (_, index) => trialRecords(first + index)).flat();
      await Promise.all(some.map((record) => store.record(record)));
    }
    await store.flush({ wait_ms: 60_000 });
  });
  const found = await ask(store);
  const times: number[] = [];
  for (let repeat = 0; repeat < 7; repeat++) times.push(1000 * await timed(() => ask(store)));
  return { query_ms: median(times), found, fill_s };
}
