/**
 * A run driven by the core's own loop with played calls, from an empty folder to its end. What a fault left
 * is taken up as the product does: the journal replayed with its samples, the rest run.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  type Backend,
  type Failure,
  JournalRecord,
  type RunPorts,
  type StudyHistory,
  type StudyResult,
  type Tracker,
  type Trial,
} from "../../../core/mod.ts";
import { writeWholeText } from "../../../python-backends/whole_file.ts";
import { storageFault } from "../../../tracker/ground/storage/storage_error.ts";
import { historyOf } from "../../../tracker/session/start_study.ts";
import { readJournal } from "../../../tracker/store/journal/reader.ts";
import { tryRunWriter } from "../../../tracker/store/shelf/run_writer.ts";
import { checkFormat } from "../../../tracker/store/store_format.ts";
import { runPaths, samplesPath, storePaths } from "../../../tracker/store/store_paths.ts";
import type { World } from "../../core/study_world.ts";
import { holdInvariants } from "../invariants.ts";
import { sometimes } from "../loop.ts";
import { wordsOf } from "./made_artifacts.ts";
import { acknowledge, announce, inEmpty, type Workload } from "./workload.ts";

export const STUDY = "study";

/** A run in a world of its own: what it is asked, and what drives it. */
export interface Run {
  readonly world: Pick<World, "backend" | "ports" | "clock" | "calls">;
  drive(ports: RunPorts, history: StudyHistory | undefined): Promise<StudyResult>;
}

/** Writes a file of samples; else how its worker fails. */
function kept(path: string, text: string): Failure | null {
  try {
    writeWholeText(path, text);
    return null;
  } catch (error) {
    const said = storageFault(error);
    const message = said === null ? String(error) : `Cannot keep samples as ${said.why}`;
    const kind = /ENOSPC|EDQUOT|no space|quota/i.test(String(error)) ? "disk_full" : "crash";
    return { kind, message, hint: null, phase: null };
  }
}

/** The world's calls, whose samples are kept as a worker keeps them. */
function keeping(backend: Backend, root: string | null, tell: Tracker, now: () => number): Backend {
  return {
    ...backend,
    async evaluate(trial_id, artifact, fidelity, action_index, look, beside) {
      const found = await backend.evaluate(
        trial_id,
        artifact,
        fidelity,
        action_index,
        look,
        beside,
      );
      if (!found.ok || action_index !== undefined || (look?.rows ?? null) !== null) return found;
      const text = found.value.samples.map((one) => `${JSON.stringify(one)}\n`).join("");
      const path = samplesPath(STUDY, trial_id, fidelity).replace(/parquet$/, "jsonl");
      const fault = root === null ? null : kept(join(root, path), text);
      if (fault !== null) return { ok: false, failure: fault, spans: [] };
      await tell.record({
        ...{ type: "samples_written", at: new Date(now()).toISOString(), study_id: STUDY },
        ...{ trial_id, fidelity, rows: found.value.samples.length, path },
        sha256: createHash("sha256").update(text).digest("hex"),
        protocol: found.value.protocol,
      });
      return found;
    },
  };
}

/** Drives it; `root` null: nothing is written. */
async function driven(
  { world, drive }: Run,
  { root, tell, history }: { root: string | null; tell: Tracker; history?: StudyHistory },
): Promise<StudyResult> {
  const { ports, clock } = world;
  const backend = keeping(world.backend, root, tell, clock.now);
  const ids = {
    idOfBytes: ({ artifact_id }: { artifact_id: string }) => Promise.resolve(artifact_id),
  };
  return await drive({ ...ports, ...ids, backend, tracker: tell }, history);
}

/** A run that nothing disturbs: its records, and its result. */
async function unbroken(run: Run): Promise<{ records: string[]; result: StudyResult }> {
  const records: string[] = [];
  const tell: Tracker = {
    record: (record) => Promise.resolve(void records.push(textOf(record))),
  };
  const result = await driven(run, { root: null, tell });
  return { records, result };
}

/** Places of other folders are kept as places of the store's. */
const withoutPlace = (_: string, value: unknown) =>
  typeof value === "string" && (value === "." || value.startsWith("/")) ? "" : value;

const textOf = (record: JournalRecord) => JSON.stringify(JournalRecord.parse(record), withoutPlace);

/** A store without its index, which is derived: no part of this. */
function opened(root: string) {
  checkFormat(root, true);
  const writer = tryRunWriter(root, STUDY);
  assert.ok(writer !== null, "a run that nobody writes cannot be written");
  const { journal } = runPaths(root, STUDY);
  return {
    paths: storePaths(root),
    record: (record: JournalRecord) => writer.journal.append(record),
    async journalOf() {
      const found: JournalRecord[] = [];
      for await (const entry of readJournal(journal)) {
        if (entry.kind !== "record") assert.fail(`${entry.kind} of what was never acknowledged`);
        found.push(entry.record);
      }
      return found;
    },
    close: () => writer.close(),
  };
}

/** What a record is told by. */
const digestOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 20);

/** Says each record, and once more when it is on disk. */
async function work(root: string, run: Run): Promise<void> {
  const store = opened(root);
  const tell: Tracker = {
    async record(record) {
      const digest = digestOf(textOf(record));
      announce(digest);
      await store.record(record);
      acknowledge(`record ${digest}`);
    },
  };
  await driven(run, { root, tell });
  acknowledge("ended");
  Deno.exit(0);
}

/** Runs it into a folder, or takes up what is there as the product does. */
export async function runOn(root: string, run: Run): Promise<StudyResult> {
  const store = opened(root);
  const history = await historyOf(store, STUDY);
  const tell: Tracker = { record: (record) => store.record(record) };
  const known = history === undefined ? {} : { history };
  try {
    return await driven(run, { root, tell, ...known });
  } finally {
    await store.close();
  }
}

/** What of a result and of its records must be as if nothing had happened. */
type Same = (result: StudyResult, records: readonly JournalRecord[]) => unknown;

/** What everything is held against is measured again under its own number. */
const isFailedBaseline = ({ trial_id, state }: Trial) =>
  trial_id === `${STUDY}/t00` && state !== "completed";

/** What was read of the records that were sent, and which trials had ended for certain. */
async function readAgain(
  before: readonly JournalRecord[],
  { sent, acknowledged }: { sent: readonly string[]; acknowledged: readonly string[] },
): Promise<ReadonlySet<string>> {
  const read = before.map((record) => ({ record, digest: digestOf(textOf(record)) }));
  await holdInvariants({
    records: { read: read.map(({ digest }) => digest), sent, acknowledged },
  });
  const certain = new Set(acknowledged);
  return new Set(
    read.filter(({ digest }) => certain.has(digest)).flatMap(({ record }) =>
      record.type === "trial_closed" && !isFailedBaseline(record.trial)
        ? [record.trial.trial_id]
        : []
    ),
  );
}

/** `same`: what must be as if nothing had happened; `holds`: what must be so of any course. */
export function runWorkload(
  name: string,
  script: string,
  made: () => Run,
  { same, holds }: { same: Same; holds: (...ended: Parameters<Same>) => void },
): Workload {
  // One world for all: what was made in it is found again by its key, as in a home.
  let whole: Promise<{ run: Run; due: Awaited<ReturnType<typeof unbroken>> }> | null = null;
  const ran = async () => {
    const run = made();
    return { run, due: await unbroken(run) };
  };
  return {
    ...{ name, script, adds_up: true },
    async check(root, acknowledged, _nth, hit) {
      const { run, due } = await (whole ??= ran());
      const began = performance.now();
      const store = opened(root);
      const took_ms = performance.now() - began;
      const ofEmpty = () => inEmpty(root, (folder) => opened(folder).close());
      await holdInvariants({ start: { took_ms, ofEmpty } });
      const course = due.records.map(digestOf);
      const sent = hit?.sent ?? course;
      const closed = await readAgain(await store.journalOf(), {
        ...{ sent, acknowledged: wordsOf(acknowledged, "record") },
      });
      const history = await historyOf(store, STUDY);
      const calls = run.world.calls.length;
      const tell: Tracker = { record: (record) => store.record(record) };
      const result = await driven(run, {
        ...{ root, tell },
        ...(history === undefined ? {} : { history }),
      });
      const again = run.world.calls.slice(calls).filter(({ trial_id }) => closed.has(trial_id));
      assert.deepEqual(again, [], "a trial that had ended was run again");
      const records = await store.journalOf();
      holds(result, records);
      assert.ok(records.filter(({ type }) => type === "study_opened").length === 1);
      if (sent.every((digest, n) => digest === course[n])) {
        const expected = due.records.map((text) => JSON.parse(text) as JournalRecord);
        assert.deepEqual(same(result, records), same(due.result, expected), "it ends otherwise");
      } else sometimes(`${name}: a run takes another course behind a fault`);
      if (acknowledged.includes("ended")) sometimes(`${name}: a run that has ended is taken up`);
      else if (history !== undefined) sometimes(`${name}: a run goes on after a fault`);
      await store.close();
    },
  };
}

/** The main part of a workload's file. */
export async function runMain(made: () => Run): Promise<void> {
  await work(Deno.args[0]!, made());
}
