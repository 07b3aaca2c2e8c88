import type { Points } from "../../../core/mod.ts";
import { checkName, checkValues } from "./checks.ts";
import { encodeIntegers, encodeValues } from "./columns.ts";

/** Points a record, half of DuckDB's row group: bounds what a damaged one loses. 0.66 MB a line. */
const POINTS_PER_RECORD = 61_440;

/** Points gathered for one write: bounds the memory of whoever logs without ever waiting. */
const POINTS_PER_WRITE = 1 << 22;

/** The trial that points belong to; also the identity under which they are gathered. */
export interface RunKey {
  readonly study_id: string;
  readonly trial_id: string;
  /** Number of the action that logs them, from 0; absent: they are logged by hand. */
  readonly action_index?: number;
}

/** Points that wait for the next write of the journal, in columns. */
export interface PointGatherer {
  readonly full: boolean;
  /** Metrics of one moment. Throws a `UsageError` for a name or value that cannot be kept. */
  add(
    run: RunKey,
    metrics: Readonly<Record<string, number>>,
    step: number,
    happened_at: number,
  ): void;
  /** Everything that was added, as records of the journal. */
  records(): Points[];
}

/** Columns of points of some metrics at the same steps. */
export interface Columns {
  metrics: readonly string[];
  step: Float64Array;
  happened_at: Float64Array;
  values: readonly Float64Array[];
}

/** Columns as records of at most `POINTS_PER_RECORD` points, or one step. */
export function pointRecords(run: RunKey, columns: Columns): Points[] {
  const { metrics, step, happened_at, values } = columns;
  const most = Math.max(1, Math.floor(POINTS_PER_RECORD / metrics.length));
  const at = new Date().toISOString();
  const records: Points[] = [];
  for (let from = 0; from < step.length; from += most) {
    const to = Math.min(from + most, step.length);
    records.push({
      type: "points",
      at,
      study_id: run.study_id,
      trial_id: run.trial_id,
      ...(run.action_index === undefined ? {} : { action_index: run.action_index }),
      metrics: [...metrics],
      rows: to - from,
      step: encodeIntegers(step.subarray(from, to)),
      happened_at: encodeIntegers(happened_at.subarray(from, to)),
      values: encodeValues(values.map((column) => column.subarray(from, to))),
    });
  }
  return records;
}

/** Rows of the same metrics of one run; the columns grow by doubling. */
interface Block {
  metrics: readonly string[];
  rows: number;
  step: Float64Array;
  happened_at: Float64Array;
  values: Float64Array[];
}

function emptyBlock(metrics: readonly string[]): Block {
  const column = (): Float64Array => new Float64Array(4);
  return {
    metrics,
    rows: 0,
    step: column(),
    happened_at: column(),
    values: metrics.map(column),
  };
}

function grown(column: Float64Array): Float64Array {
  const larger = new Float64Array(column.length * 2);
  larger.set(column);
  return larger;
}

function append(
  block: Block,
  metrics: Readonly<Record<string, number>>,
  step: number,
  happened_at: number,
): void {
  const { rows } = block;
  if (rows === block.step.length) {
    block.step = grown(block.step);
    block.happened_at = grown(block.happened_at);
    block.values = block.values.map(grown);
  }
  block.step[rows] = step;
  block.happened_at[rows] = happened_at;
  for (let i = 0; i < block.metrics.length; i++) {
    block.values[i]![rows] = metrics[block.metrics[i]!]!;
  }
  block.rows++;
}

function hasMetrics(block: Block, metrics: Readonly<Record<string, number>>): boolean {
  let at = 0;
  for (const name in metrics) {
    if (block.metrics[at++] !== name) return false;
  }
  return at === block.metrics.length;
}

/** Blocks of one run by their metrics, and the one that was used last. */
interface RunBlocks {
  byMetrics: Map<string, Block>;
  last: Block | null;
}

function blockOf(blocks: RunBlocks, metrics: Readonly<Record<string, number>>): Block {
  if (blocks.last !== null && hasMetrics(blocks.last, metrics)) return blocks.last;
  const names = Object.keys(metrics);
  for (const name of names) checkName(name);
  const key = names.join("\n"); // no name holds a line break
  const block = blocks.byMetrics.get(key) ?? emptyBlock(names);
  blocks.byMetrics.set(key, block);
  blocks.last = block;
  return block;
}

/** An empty gatherer. */
export function makeGatherer(): PointGatherer {
  const runs = new Map<RunKey, RunBlocks>();
  let points = 0;
  let lastRun: RunKey | null = null;
  let lastBlocks: RunBlocks = { byMetrics: new Map(), last: null };
  return {
    get full(): boolean {
      return points >= POINTS_PER_WRITE;
    },
    add(run, metrics, step, happened_at) {
      checkValues(metrics);
      if (run !== lastRun) {
        lastBlocks = runs.get(run) ?? { byMetrics: new Map(), last: null };
        runs.set(run, lastBlocks);
        lastRun = run;
      }
      const block = blockOf(lastBlocks, metrics);
      append(block, metrics, step, happened_at);
      points += block.metrics.length;
    },
    records() {
      return [...runs].flatMap(([run, { byMetrics }]) =>
        [...byMetrics.values()].flatMap(({ metrics, rows, step, happened_at, values }) =>
          pointRecords(run, {
            metrics,
            step: step.subarray(0, rows),
            happened_at: happened_at.subarray(0, rows),
            values: values.map((column) => column.subarray(0, rows)),
          })
        )
      );
    },
  };
}
