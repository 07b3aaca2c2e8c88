import { accessSync, constants, existsSync, statSync } from "node:fs";
import { UsageError } from "../../../core/mod.ts";
import type { MlflowClient } from "./client/client.ts";
import { type Effect, type Recipient, tags } from "./describe/effects.ts";
import { MlflowError } from "./client/http.ts";
import type { KnownStudy } from "./describe/known_study.ts";
import { safeKey } from "./client/server_limits.ts";
import type { Metric, RunData } from "./client/log_batch.ts";
import { recommend } from "./recommend.ts";
import type { RunBook, RunPlace } from "./run_book.ts";

/** Larger files stay where they are; the run names their folder. */
export const MAX_FILE_BYTES = 1_000_000_000;

export interface Delivery {
  readonly client: MlflowClient;
  readonly book: RunBook;
  readonly max_file_bytes: number;
  /** Awaited before each part of a file. */
  readonly quiet: () => Promise<void>;
  readonly study: (study_id: string) => KnownStudy;
  /** Told what the server will not take however often it is asked, and what is left out. */
  readonly onSaid: (sentence: string) => void;
}

/**
 * True where asking again cannot help, and where other requests may still succeed. A redirect, a
 * 400 or a 404 also comes from what is no MLflow server, or from one that no longer has the run:
 * nothing was refused then, all of it is still to be sent. So the run is asked for first.
 */
async function isRefusal({ client }: Delivery, run_id: string, error: unknown): Promise<boolean> {
  if (error instanceof UsageError) return true;
  if (!(error instanceof MlflowError) || error.temporary || error.forbidden) return false;
  // MLflow leads nobody elsewhere: what stands before it does, such as when a session has ended.
  if (error.status !== null && error.status >= 300 && error.status < 400) return false;
  try {
    return (await client.getRun(run_id)).info.run_id === run_id;
  } catch {
    return false;
  }
}

function notTaken({ onSaid }: Delivery, error: unknown): void {
  onSaid(`MLflow did not take: ${(error as Error).message}`);
}

/** Two parts of what is to be written: by kind first, then by number. */
function halves({ metrics = [], params = [], tags = [] }: RunData): RunData[] {
  if (metrics.length > 0 && params.length + tags.length > 0) return [{ metrics }, { params, tags }];
  if (params.length > 0 && tags.length > 0) return [{ params }, { tags }];
  const part = <T>(items: readonly T[], first: boolean): readonly T[] => {
    const middle = Math.ceil(items.length / 2);
    return first ? items.slice(0, middle) : items.slice(middle);
  };
  return [true, false].map((first) => ({
    metrics: part(metrics, first),
    params: part(params, first),
    tags: part(tags, first),
  }));
}

/** Writes all that the server takes: where it refuses a batch, parts of it, down to one item. */
async function logAll(delivery: Delivery, run_id: string, data: RunData): Promise<void> {
  try {
    await delivery.client.log(run_id, data);
  } catch (error) {
    if (!await isRefusal(delivery, run_id, error)) throw error;
    const { metrics = [], params = [], tags = [] } = data;
    if (metrics.length + params.length + tags.length <= 1) return notTaken(delivery, error);
    for (const half of halves(data)) await logAll(delivery, run_id, half);
  }
}

/** Why a file does not go to the server; null: it does. */
function whyLeftOut(file: string, max_bytes: number): string | null {
  let size: number | undefined;
  try {
    size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size !== undefined) accessSync(file, constants.R_OK);
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
  if (size === undefined) return "is not there (removed since, as by pare gc)";
  if (size <= max_bytes) return null;
  const [has, most] = [size, max_bytes].map((bytes) => bytes.toLocaleString("en"));
  return `has ${has} bytes, of at most ${most}; PARE_MLFLOW_MAX_FILE raises that`;
}

/** Uploads a file of a run; one that is left out is said here and in the run's tags. */
async function upload(
  { client, max_file_bytes, quiet, onSaid }: Delivery,
  { run_id }: RunPlace,
  { artifact_uri, path, file, optional = false }: {
    artifact_uri: string;
    path: string;
    file: string;
    optional?: boolean;
  },
): Promise<void> {
  if (optional && !existsSync(file)) return;
  const reason = whyLeftOut(file, max_file_bytes);
  if (reason === null) return await client.putFile(artifact_uri, path, file, quiet);
  onSaid(`Left out of MLflow: ${file} ${reason}`);
  const [tag] = tags({ [`pare.left_out.${path}`]: `${file} ${reason}` });
  await client.log(run_id, { tags: [{ ...tag!, key: safeKey(tag!.key) }] });
}

async function deliverOne(delivery: Delivery, effect: Effect, place: RunPlace): Promise<void> {
  const { client } = delivery;
  const { run_id, artifact_uri } = place;
  switch (effect.kind) {
    case "log":
      return await logAll(delivery, run_id, effect.data);
    case "status": {
      const { status, end_time } = effect;
      await client.updateRun(run_id, { status, ...(end_time === null ? {} : { end_time }) });
      return;
    }
    case "text":
      return await client.putText(artifact_uri, effect.path, effect.text);
    case "file":
      return await upload(delivery, place, { ...effect, artifact_uri });
    case "datasets":
      await client.logDatasets(run_id, effect.datasets);
      return;
    case "recommend":
      return await recommend(
        client,
        place,
        effect.recommended,
        (uri, path, file) => upload(delivery, place, { artifact_uri: uri, path, file }),
      );
  }
}

interface Gathered {
  readonly metrics: Metric[];
  /** By key, as a request must not name one twice: the last value stands. */
  readonly params: Map<string, string>;
  readonly tags: Map<string, string>;
}

/** Effects in order, the logging of each run gathered into as few requests as may be. */
function gathered(effects: readonly Effect[]): Effect[] {
  const logs = new Map<string, { to: Recipient; data: Gathered }>();
  const others: Effect[] = [];
  for (const effect of effects) {
    if (effect.kind !== "log") {
      others.push(effect);
      continue;
    }
    const { to, data } = effect;
    const key = JSON.stringify([to.study_id, to.trial_id]);
    const empty = (): Gathered => ({ metrics: [], params: new Map(), tags: new Map() });
    const log = logs.get(key) ?? { to, data: empty() };
    logs.set(key, log);
    for (const metric of data.metrics ?? []) log.data.metrics.push(metric);
    for (const one of data.params ?? []) log.data.params.set(one.key, one.value);
    for (const one of data.tags ?? []) log.data.tags.set(one.key, one.value);
  }
  const listed = (map: ReadonlyMap<string, string>) =>
    [...map].map(([key, value]) => ({ key, value }));
  return [
    ...[...logs.values()].map(({ to, data: { metrics, params, tags } }): Effect => ({
      to,
      kind: "log",
      data: { metrics, params: listed(params), tags: listed(tags) },
    })),
    ...others,
  ];
}

/**
 * Carries effects out. Throws what may succeed later (`MlflowError.temporary`) and what bars all
 * else: no access (401, 403), no place for the run, a server that does not have it. A single thing
 * that the server of the run refuses is told and left out.
 */
export async function deliver(delivery: Delivery, effects: readonly Effect[]): Promise<void> {
  for (const effect of gathered(effects)) {
    const { study_id } = effect.to;
    const place = await delivery.book.place(delivery.study(study_id), effect.to);
    try {
      await deliverOne(delivery, effect, place);
    } catch (error) {
      if (!await isRefusal(delivery, place.run_id, error)) {
        delivery.book.forget(study_id); // its runs may be gone: the next try looks for them again
        throw error;
      }
      notTaken(delivery, error);
    }
  }
}
