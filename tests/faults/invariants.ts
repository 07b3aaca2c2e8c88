/** What must hold after any fault: one function for every loop, each with what its workload has. */
import assert from "node:assert/strict";
import { attemptOf, chargeKey, chargeOf, type Queue, UsageError } from "../../core/mod.ts";
import { NO_SLOTS, plus } from "../../core/jobs/slots.ts";
import { artifactId } from "../../tracker/artifacts/artifact_files.ts";
import type { ArtifactStore } from "../../tracker/artifacts/artifact_store.ts";
import { openStore } from "../../tracker/store/store.ts";
import { assertRebuilds } from "../fixtures/stores/contents.ts";
import { patience } from "./walk_loops.ts";

/** What one reads after a fault, and what was sent before it. */
export interface Records {
  readonly read: readonly string[];
  /** In the order in which they were sent. */
  readonly sent: readonly string[];
  /** Of these, those that must be there. */
  readonly acknowledged: readonly string[];
}

/** Artifacts of which these must be there, as some store needs them. */
export interface Artifacts {
  readonly store: ArtifactStore;
  /** Every id that was ever made. */
  readonly made: readonly string[];
  readonly needed: readonly string[];
}

/** What a loop's workload has. */
export interface Held {
  readonly records?: Records;
  readonly queue?: Queue;
  /** Folder of a store whose index must say what its journals say. */
  readonly index?: string;
  readonly artifacts?: Artifacts;
  /** What a refusal said. */
  readonly refusal?: unknown;
  readonly start?: Start;
}

/** From a small store's opening to its first answer. */
interface Start {
  readonly took_ms: number;
  /** Does the same with an empty one. */
  ofEmpty(): unknown;
}

/** A start takes a second. */
const START_MS = 1_000;
/** What is left of a fault takes no more times what an empty store takes at the same minute. */
const START_TIMES = 20;

async function holdStart({ took_ms, ofEmpty }: Start): Promise<void> {
  if (took_ms < START_MS) return;
  const began = performance.now();
  await ofEmpty();
  const empty_ms = performance.now() - began;
  const said = `the start took ${took_ms} ms, of an empty store ${empty_ms} ms`;
  assert.ok(took_ms < START_MS + START_TIMES * empty_ms, said);
}

/** 1 and 2: what was acknowledged is read once, in order; what was never sent is not read. */
function holdRecords({ read, sent, acknowledged }: Records): void {
  const place = new Map(sent.map((one, at) => [one, at]));
  let last = -1;
  for (const one of read) {
    const at = place.get(one);
    if (at === undefined) assert.fail(`read and never sent: ${one.slice(0, 200)}`);
    if (at === last) assert.fail(`read twice: record ${at}, ${one.slice(0, 120)}`);
    if (at < last) assert.fail(`record ${at} is read behind record ${last}`);
    last = at;
  }
  const there = new Set(read);
  const lost = acknowledged.filter((one) => !there.has(one));
  if (lost.length === 0) return;
  const first = lost[0]!;
  assert.fail(
    `${lost.length} of ${acknowledged.length} acknowledged records are lost, the first is ` +
      `${place.get(first)}: ${first.slice(0, 120)}`,
  );
}

/** 6: each submission is in exactly one state; slots and budgets add up. */
function holdQueue(queue: Queue): void {
  const line = Object.values(queue.lines).flat();
  for (const [submission_id, job_id] of queue.submissions) {
    const job = queue.jobs.get(job_id);
    assert.equal(
      job?.asked.submission_id,
      submission_id,
      `${job_id} is no job of ${submission_id}`,
    );
  }
  assert.equal(queue.submissions.size, queue.jobs.size, "a submission has no job, or two");
  for (const job of queue.jobs.values()) {
    const lined = line.filter((one) => one === job).length;
    assert.equal(
      lined,
      job.ended === null ? 1 : 0,
      `${job.job_id}, ${job.state}, stands ${lined} times`,
    );
    if (lined === 1) {
      assert.ok(queue.lines[job.priority].includes(job), `${job.job_id}: another line`);
    }
    const runs = attemptOf(job) !== null;
    assert.equal(queue.under_way.has(job.job_id), runs, `${job.job_id}, ${job.state}: under way?`);
    const over = ["done", "failed", "cancelled"].includes(job.state);
    assert.equal(job.ended !== null, over, `${job.job_id} is ${job.state}`);
  }
  for (const { name, used } of queue.engines.values()) {
    const held = [...queue.under_way.values()].map((job) => attemptOf(job)!)
      .filter(({ engine }) => engine === name)
      .reduce((sum, { slots }) => plus(sum, slots), NO_SLOTS);
    assert.deepEqual([used.cpu, used.gpu], [held.cpu, held.gpu], `${name} counts other slots`);
  }
  const spent = new Map<string, number>();
  for (const { asked: { study }, attempts } of queue.jobs.values()) {
    for (const { ended, seconds, machine, slots } of attempts) {
      if (ended === null || seconds === null) continue;
      const key = chargeKey(machine, study);
      spent.set(key, (spent.get(key) ?? 0) + seconds * chargeOf(slots));
    }
  }
  for (const key of new Set([...spent.keys(), ...queue.spent.keys()])) {
    const [own, said] = [spent.get(key) ?? 0, queue.spent.get(key)?.seconds ?? 0];
    assert.ok(Math.abs(own - said) < 1e-6 * (1 + own), `${key}: ${said} s are charged, of ${own}`);
  }
}

/** 3: the index says what an index made anew of the journals says. */
async function holdIndex(root: string): Promise<void> {
  await using store = await openStore(root, { write: true });
  const { caught_up, error } = await store.flush({ wait_ms: patience(60_000) });
  assert.ok(caught_up, `the index does not catch up: ${error}`);
  await assertRebuilds(store);
}

/** 4: an artifact is whole under its content's name, or absent; what a store needs is there. */
async function holdArtifacts({ store, made, needed }: Artifacts): Promise<void> {
  for (const id of made) {
    const artifact = await store.get(id);
    if (artifact === null) {
      assert.ok(!needed.includes(id), `the artifact ${id} is gone, and a store needs it`);
      continue;
    }
    assert.equal(artifact.artifact_id, id, `under ${id} lies what calls itself otherwise`);
    assert.equal(artifactId(artifact.files), id, `the manifest of ${id} names other files`);
    assert.deepEqual(await store.verifyChecksums(artifact), [], `${id} is not what was written`);
  }
}

/** 8: one or two sentences that say what was attempted. */
function holdRefusal(refusal: unknown): void {
  assert.ok(refusal instanceof Error, `a refusal is no error: ${String(refusal)}`);
  const { message } = refusal;
  const sentence = /^[A-Za-z][^\n]{10,4000}$/.test(message) &&
    !/\[object|is not a function|of undefined/.test(message);
  assert.ok(sentence, `a refusal is no sentence: ${refusal.name}: ${message.slice(0, 300)}`);
  assert.ok(
    refusal instanceof UsageError || /^(Cannot|Could not|No) /.test(message),
    `a refusal says not what was attempted: ${refusal.name}: ${message.slice(0, 300)}`,
  );
}

/** Checks what a loop's workload has of all that must hold. */
export async function holdInvariants(held: Held): Promise<void> {
  const { records, queue, index, artifacts, start } = held;
  if (records !== undefined) holdRecords(records);
  if (queue !== undefined) holdQueue(queue);
  if (index !== undefined) await holdIndex(index);
  if (artifacts !== undefined) await holdArtifacts(artifacts);
  if ("refusal" in held) holdRefusal(held.refusal);
  if (start !== undefined) await holdStart(start);
}
