import { LIMITS } from "./server_limits.ts";
import { toWire } from "./answers.ts";

/** One point of a metric: milliseconds since 1970, and a step. */
export interface Metric {
  key: string;
  value: number;
  timestamp: number;
  step: number;
}

/** What is written into one run. */
export interface RunData {
  readonly metrics?: readonly Metric[];
  readonly params?: readonly { key: string; value: string }[];
  readonly tags?: readonly { key: string; value: string }[];
}

type Item = { list: "metrics" | "params" | "tags"; json: string; bytes: number };

const utf8 = new TextEncoder();

function* itemsOf({ metrics = [], params = [], tags = [] }: RunData): Generator<Item> {
  const item = (list: Item["list"], value: unknown): Item => {
    const json = JSON.stringify(value);
    return { list, json, bytes: utf8.encode(json).length + 1 };
  };
  for (const one of params) yield item("params", one);
  for (const one of tags) yield item("tags", one);
  for (const one of metrics) yield item("metrics", { ...one, value: toWire(one.value) });
}

/** Bytes of a request's frame: keys, brackets and a run's id. */
const FRAME_BYTES = 1_000;

/**
 * The bodies of the `runs/log-batch` calls that write all of it, each within the server's limits on
 * metrics, params, tags, items and bytes. Order is kept inside each list.
 */
export function* batchBodies(run_id: string, data: RunData): Generator<string> {
  let lists: Record<Item["list"], string[]> = { metrics: [], params: [], tags: [] };
  let count = 0;
  let bytes = FRAME_BYTES;
  const close = (): string => {
    const fields = Object.entries(lists).map(([name, items]) => `"${name}":[${items.join()}]`);
    lists = { metrics: [], params: [], tags: [] };
    count = 0;
    bytes = FRAME_BYTES;
    return `{"run_id":${JSON.stringify(run_id)},${fields.join()}}`;
  };
  for (const item of itemsOf(data)) {
    const full = lists[item.list].length >= LIMITS[item.list] || count >= LIMITS.items ||
      bytes + item.bytes > LIMITS.body_bytes;
    if (full) yield close();
    lists[item.list].push(item.json);
    count += 1;
    bytes += item.bytes;
  }
  if (count > 0) yield close();
}
