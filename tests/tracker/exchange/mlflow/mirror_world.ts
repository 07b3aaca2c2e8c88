import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Artifact, JournalRecord } from "../../../../core/mod.ts";
import {
  createMlflowClient,
  type MlflowClient,
} from "../../../../tracker/exchange/mlflow/client/client.ts";
import { connectionOf } from "../../../../tracker/exchange/mlflow/client/connection.ts";
import { PATIENCE } from "../../../../tracker/exchange/mlflow/client/http.ts";
import { type MirrorInput, openMirror } from "../../../../tracker/exchange/mlflow/mirror.ts";
import type { Run } from "../../../../tracker/exchange/mlflow/client/answers.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { run, world, type WorldOptions } from "../../../core/study_world.ts";

export const HASTY = {
  ...PATIENCE,
  timeout_ms: 5_000,
  retries: 1,
  backoff_ms: 20,
  longest_pause_ms: 1_000,
};

/** Records whose artifacts have names as files have them: the world's are whole recipes. */
function withShortIds(records: readonly JournalRecord[]): JournalRecord[] {
  const ids = records.flatMap((record) =>
    record.type === "artifact_written" ? [record.artifact.artifact_id] : []
  );
  const short = (id: string) => createHash("sha256").update(id).digest("hex").slice(0, 16);
  let text = JSON.stringify(records);
  for (const id of new Set(ids)) {
    text = text.replaceAll(JSON.stringify(id), JSON.stringify(short(id)));
  }
  return JSON.parse(text);
}

/** The artifact with a file that says whose it is, where a home has it. */
function onDisk(artifact: Artifact, root: string): Artifact {
  const location = join(dirname(root), "artifacts", artifact.artifact_id);
  mkdirSync(location, { recursive: true });
  const text = JSON.stringify(artifact.artifact_id);
  writeFileSync(join(location, "model.safetensors"), text);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const files = [{ path: "model.safetensors", bytes: text.length, sha256 }];
  return { ...artifact, location, files };
}

/** Records a study of the test world in a store, and gives the journal's size. */
export async function recordStudy(
  root: string,
  study_id: string,
  options: WorldOptions = {},
  more: readonly JournalRecord[] = [],
  asked: { max_trials: number } = { max_trials: 3 },
): Promise<{ records: JournalRecord[]; end: number }> {
  const studyWorld = world(asked, options);
  await run(studyWorld, { study_id });
  const records = withShortIds([...studyWorld.records, ...more]).map((record): JournalRecord => {
    if (record.type !== "artifact_written") return record;
    return { ...record, artifact: onDisk(record.artifact, root) };
  });
  await using store = await openStore(root, { write: true });
  for (const record of records) await store.record(record);
  const { journal_bytes } = await store.status();
  return { records, end: journal_bytes };
}

/** Records a study of one trial, and leaves no index: that is derived, and copied a thousand times. */
export async function recordSmallStudy(root: string, study_id: string): Promise<number> {
  const { end } = await recordStudy(root, study_id, {}, [], { max_trials: 1 });
  for (const name of readdirSync(root)) {
    if (name.startsWith("pare.duckdb")) rmSync(join(root, name));
  }
  return end;
}

export function mirrorTo(uri: string, root: string, more: Partial<MirrorInput> = {}) {
  return openMirror({
    root,
    reports: `${root}/reports`,
    connection: connectionOf(uri, {}),
    experiment: "pare",
    checkpoints: "front",
    patience: HASTY,
    ...more,
  });
}

/** A run as tests compare it: everything but ids that the server chose. */
export interface RunSeen {
  readonly name: string;
  readonly status: string;
  readonly parent: string | null;
  readonly tags: Record<string, string>;
  readonly params: Record<string, string>;
  /** Every point by key, in the order of time, step and value. */
  readonly points: Record<string, string[]>;
  readonly files: string[];
}

async function filesOf(client: MlflowClient, run_id: string, path?: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const file of client.files(run_id, path)) {
    if (file.is_dir) paths.push(...await filesOf(client, run_id, file.path));
    else paths.push(file.path);
  }
  return paths.sort();
}

async function seen(client: MlflowClient, { info, data }: Run): Promise<RunSeen> {
  const points: Record<string, string[]> = {};
  for (const { key } of data.metrics) {
    const history = await Array.fromAsync(client.metricHistory(info.run_id, key));
    points[key] = history.map(({ timestamp, step, value }) => `${timestamp} ${step} ${value}`)
      .sort();
  }
  const tags = Object.fromEntries(data.tags.map(({ key, value }) => [key, value]));
  const parent = tags["mlflow.parentRunId"] ?? null;
  delete tags["mlflow.parentRunId"];
  return {
    name: info.run_name,
    status: info.status,
    parent,
    tags,
    params: Object.fromEntries(data.params.map(({ key, value }) => [key, value])),
    points,
    files: await filesOf(client, info.run_id),
  };
}

/** Every run of an experiment that belongs to a study, by name; parents by name too. */
export async function runsOf(
  uri: string,
  study_id: string,
  experiment_name = "pare",
): Promise<Record<string, RunSeen>> {
  const client = createMlflowClient(connectionOf(uri, {}));
  const experiment = await client.findExperiment(experiment_name);
  if (experiment === null) return {};
  const runs = await Array.fromAsync(
    client.runs([experiment.experiment_id], `tags.\`pare.study_id\` = '${study_id}'`),
  );
  const names = new Map(runs.map(({ info }) => [info.run_id, info.run_name]));
  const found: Record<string, RunSeen> = {};
  for (const one of runs) {
    if (one.info.run_name in found) throw new Error(`${one.info.run_name} is there twice`);
    const { parent, ...rest } = await seen(client, one);
    found[one.info.run_name] = { ...rest, parent: names.get(parent ?? "") ?? parent };
  }
  return found;
}
