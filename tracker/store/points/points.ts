import { UsageError } from "../../../core/mod.ts";
import type { Journal } from "../journal/journal.ts";
import { checkCount, checkMoment, checkName, checkStep, notANumber } from "./checks.ts";
import { pointRecords, type RunKey } from "./gather.ts";

/** Numbers of one column: a typed array is taken as it is, without looking at each. */
export type NumberColumn = Float64Array | Float32Array | Int32Array | readonly number[];

/** Logs the points of one trial. */
export interface Run extends RunKey {
  /**
   * Metrics at one step; resolves when they are on disk. Calls that do not wait for each other
   * share one write, one fdatasync and one promise, so that 100,000 of them a second are no burden:
   * wait for the last one. It rejects where the write failed, such as on a full disk. What cannot be
   * kept (a name with control characters, a value that is no number) throws at once.
   * @param happened_at when it was; default: now
   */
  log(
    metrics: Readonly<Record<string, number>>,
    options: { step: number; happened_at?: number | Date },
  ): Promise<void>;
  /**
   * Many points at once: a column of values a metric, all of one length.
   * @param step each row's step, or the first one where the following count up by one
   * @param happened_at each row's milliseconds since 1970, or one moment for all; default: now
   */
  logBatch(
    metrics: Readonly<Record<string, NumberColumn>>,
    options: { step: NumberColumn | number; happened_at?: NumberColumn | number | Date },
  ): Promise<void>;
}

function asColumn(name: string, column: NumberColumn): Float64Array {
  if (column instanceof Float64Array) return column;
  if (Array.isArray(column)) {
    for (const value of column as readonly unknown[]) {
      if (typeof value !== "number") throw notANumber(name, value);
    }
  } else if (!(column instanceof Float32Array || column instanceof Int32Array)) {
    throw notANumber(name, column);
  }
  return Float64Array.from(column);
}

function milliseconds(happened_at: number | Date | undefined): number {
  if (happened_at === undefined) return Date.now();
  const moment = typeof happened_at === "number" ? happened_at : happened_at.getTime();
  checkMoment(moment);
  return moment;
}

function counted(first: number, rows: number): Float64Array {
  const column = new Float64Array(rows);
  for (let i = 0; i < rows; i++) column[i] = first + i;
  return column;
}

function checkedColumn(
  name: string,
  column: NumberColumn,
  rows: number,
  check: (value: number) => void,
): Float64Array {
  const checked = asColumn(name, column);
  requireRows(name, checked.length, rows);
  for (let i = 0; i < rows; i++) check(checked[i]!);
  return checked;
}

function requireRows(name: string, length: number, rows: number): void {
  if (length === rows) return;
  throw new UsageError(
    `Cannot log the batch as its columns must be of one length: ${name} has ${length} rows, the first metric ${rows}`,
  );
}

function stepColumn(step: NumberColumn | number, rows: number): Float64Array {
  if (typeof step !== "number") return checkedColumn("step", step, rows, checkStep);
  checkStep(step);
  checkStep(step + rows - 1);
  return counted(step, rows);
}

function momentColumn(
  happened_at: NumberColumn | number | Date | undefined,
  rows: number,
): Float64Array {
  if (typeof happened_at === "object" && !(happened_at instanceof Date)) {
    return checkedColumn("happened_at", happened_at, rows, checkMoment);
  }
  return new Float64Array(rows).fill(milliseconds(happened_at));
}

/** The points of one trial, written to a journal; `wake` is called when some are on disk. */
export function openRun(journal: Journal, wake: () => void, key: RunKey): Run {
  const { study_id, trial_id } = key;
  checkName(study_id, "points of the study");
  checkName(trial_id, "points of the trial");
  const run: RunKey = { ...key };
  const woken = new WeakSet<Promise<void>>();
  const waking = (durable: Promise<void>): Promise<void> => {
    if (woken.has(durable)) return durable;
    woken.add(durable);
    durable.then(wake, () => {}); // whoever logged hears of a failure, the sink need not
    return durable;
  };
  return {
    ...run,
    log(metrics, { step, happened_at }) {
      checkStep(step);
      const moment = milliseconds(happened_at);
      const { points, durable } = journal.gather();
      points.add(run, metrics, step, moment);
      return waking(durable);
    },
    logBatch(metrics, { step, happened_at }) {
      const names = Object.keys(metrics);
      checkCount(names.length);
      const values = names.map((name) => asColumn(name, metrics[name]!));
      const rows = values[0]!.length;
      names.forEach((name, i) => {
        checkName(name);
        requireRows(name, values[i]!.length, rows);
      });
      if (rows === 0) return Promise.resolve();
      const columns = {
        metrics: names,
        step: stepColumn(step, rows),
        happened_at: momentColumn(happened_at, rows),
        values,
      };
      return waking(journal.appendAll(pointRecords(run, columns)));
    },
  };
}
