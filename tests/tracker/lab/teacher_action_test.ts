import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Action, type Artifact, type CallRequest, resolveAction } from "../../../core/mod.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { applyAction } from "../../../tracker/lab/runner/apply_action.ts";
import { type CallRunner, failed } from "../../../tracker/lab/runner/call_runner.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { bareStudy } from "../../fixtures/bare_study.ts";
import { smallFacts } from "../../core/spec_fixtures.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const plugins = await discoverPlugins();

/** A home with an original and another one, and a method that asks for a teacher where it is told to. */
async function prepare(teacher: boolean) {
  const folder = temporaryFolder("teacher");
  const home = findHome({ PARE_HOME: folder });
  await mkdir(home.artifacts, { recursive: true });
  const store = await openStore(join(folder, "store"), { write: true });
  const real = await openArtifactStore(home.artifacts);
  const keys: string[] = [];
  const artifacts = {
    ...real,
    find: (key: string) => {
      keys.push(key);
      return real.find(key);
    },
  };
  const originals: Artifact[] = [];
  for (const name of ["one", "other"]) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "model.safetensors"), name);
    originals.push(
      await artifacts.adopt(join(folder, name), {
        ...{ action_key: "a".repeat(64), parent_id: null, action: null, formula_bytes: null },
        ...{ weight_bits: null, activation_bits: null, verification: null },
        created_at: "2026-01-01T00:00:00Z",
      }),
    );
  }
  const registry = {
    ...plugins,
    method(agent: string, name: string) {
      const entry = plugins.method(agent, name);
      const needs = { ...entry.method.needs, ...(teacher ? { teacher: true as const } : {}) };
      return { ...entry, method: { ...entry.method, needs } };
    },
  };
  const asked: CallRequest<"apply">[] = [];
  const runner: CallRunner = (_trial, request) => {
    if (request.call === "apply") asked.push(request);
    const failure = { kind: "crash", message: "not run", hint: null, phase: "apply" } as const;
    return Promise.resolve(failed(failure, []));
  };
  const caches = openFolderCache(home.cache);
  const workshop = {
    ...{ home, registry, artifacts, caches, store, maxDiskBytes: null },
    client: null as never, // nothing is run
    environmentHash: (name: string) => Promise.resolve(`pins of ${name}`),
    timestamp: () => "2026-01-01T00:00:00Z",
  };
  const study = bareStudy();
  const resolved = (action: Action) => resolveAction(action, plugins.methods, smallFacts());
  const rtn = { agent: "quantization", method: "rtn", params: { bits: 8, group_size: 32 } };
  const work = async (
    action: Action,
    parent: Artifact,
    original: Artifact,
    student: Artifact | null,
  ) => {
    const common = { workshop, study, runner, trial_id: "study/t01", action: resolved(action) };
    const outcome = await applyAction({ ...common, parent, original, student, action_index: 0 });
    assert.ok(!outcome.ok && outcome.failure.message === "not run", JSON.stringify(outcome));
  };
  const apply = (original: Artifact, student: Artifact | null = null) =>
    work(rtn, originals[0]!, original, student);
  /** What a chain from the original leaves, action by action. */
  const chain = async (...actions: Action[]) => {
    const left = [originals[0]!];
    for (const action of actions) {
      const directory = join(folder, `${actions.map(({ method }) => method)}-${left.length}`);
      await mkdir(directory);
      await writeFile(join(directory, "model.safetensors"), directory);
      const { artifact_id: parent_id } = left.at(-1)!;
      left.push(
        await artifacts.adopt(directory, {
          ...{ action_key: "b".repeat(64), parent_id, action: resolved(action) },
          ...{ formula_bytes: null, weight_bits: null, activation_bits: null, verification: null },
          created_at: "2026-01-01T00:00:00Z",
        }),
      );
    }
    return left;
  };
  return { apply, work, chain, originals, asked, keys, caches, store };
}

Deno.test("a method that learns from the original is given it, and is another action with another one", async () => {
  const { apply, originals: [one, other], asked, keys, caches, store } = await prepare(true);
  await apply(one!);
  await apply(one!);
  await apply(other!);
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[0], keys[2]);
  assert.deepEqual(asked.map((request) => request.original_dir), [
    ...[one!.location, one!.location, other!.location],
  ]);
  const [first, again, elsewhere] = asked.map((request) => request.original_cache!);
  assert.equal(first, again, "what the original answers is kept for every action");
  assert.notEqual(first, elsewhere);
  assert.ok(existsSync(first!) && existsSync(elsewhere!));
  await caches.gc(0);
  assert.ok(existsSync(first!), "this process uses it");
  await store.close();
});

Deno.test("a named student is given in the place of the untouched original, and is another action", async () => {
  const { apply, originals: [one, other], asked, keys, store } = await prepare(true);
  await apply(one!);
  await apply(one!, other!);
  await apply(other!, one!); // the parent is not the original any more: a cut of it
  assert.deepEqual(asked.map(({ student_dir }) => student_dir), [null, other!.location, null]);
  assert.equal(new Set(keys).size, 3);
  await store.close();
});

Deno.test("other methods are given no original, and their keys do not know of it", async () => {
  const { apply, originals: [one, other], asked, keys, store } = await prepare(false);
  await apply(one!);
  await apply(other!);
  assert.equal(keys[0], keys[1]);
  assert.deepEqual(asked.map(({ original_dir }) => original_dir), [undefined, undefined]);
  await store.close();
});

Deno.test("a correction is given the model before what rounded or pruned it, trained ones included", async () => {
  const { work, chain, originals: [one], asked, keys, store } = await prepare(false);
  const correct = (parent: Artifact) => work(of("quantization", "eora"), parent, one!, null);
  const of = (agent: string, method: string): Action => ({ agent, method, params: {} });
  const [gptq, wanda] = [of("quantization", "gptq"), of("pruning", "wanda")];
  const plain = await chain(gptq);
  const trained = await chain(of("finetuning", "lora"), wanda, gptq);
  const twice = await chain(wanda, of("distillation", "distill"), gptq);
  for (const artifacts of [plain, trained, twice]) await correct(artifacts.at(-1)!);
  assert.deepEqual(asked.map(({ reference_dir }) => reference_dir), [
    ...[plain[0], trained[1], twice[2]].map((artifact) => artifact!.location),
  ]);
  assert.equal(new Set(keys).size, 3);
  await work(gptq, one!, one!, null);
  assert.equal(asked.at(-1)!.reference_dir, null, "nobody else is given one");
  await store.close();
});
