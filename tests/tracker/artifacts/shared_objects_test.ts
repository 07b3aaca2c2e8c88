/** An object store of several homes: models and datasets that lack on a machine, and what may go again. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ArtifactStore,
  openArtifactStore,
} from "../../../tracker/artifacts/artifact_store.ts";
import { collectShared, homeId } from "../../../tracker/artifacts/remote/collect.ts";
import { fetchGiven, sendGiven, shareGiven } from "../../../tracker/artifacts/remote/given.ts";
import { CHUNK_BYTES } from "../../../tracker/artifacts/remote/manifest.ts";
import {
  type ObjectStore,
  openObjectStore,
} from "../../../tracker/artifacts/remote/object_store.ts";
import { whileCollecting, whileSending } from "../../../tracker/artifacts/remote/sending.ts";
import {
  SHARED_BY,
  sharedArtifacts,
  shareNamed,
} from "../../../tracker/artifacts/remote/shared_artifacts.ts";
import { heldThere } from "../../../tracker/artifacts/remote/transfer.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import { submitTo } from "../../../tracker/jobs/queue/submit.ts";
import { keptGiven } from "../../../tracker/lab/kept_given.ts";
import { NO_RCLONE, rclone, s3InMemory, startRclone } from "../../fixtures/s3_server.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT } from "../../fixtures/stores/records.ts";
import { ignoreUnless } from "../../run/counts.ts";

const open = ({ env }: { env: Record<string, string> }) =>
  openObjectStore("s3://models/pare", env, { waits_ms: [1] });

/** Weights that are the same in all, with a config of its own. */
async function made(artifacts: ArtifactStore, config: string): Promise<string> {
  const folder = await artifacts.begin();
  await Deno.writeTextFile(join(folder, "model.safetensors"), "weights");
  await Deno.writeTextFile(join(folder, "config.json"), config);
  const { artifact_id } = await artifacts.commit(folder, {
    ...{ action_key: sha256Text(config), parent_id: null, action: null, formula_bytes: null },
    ...{ weight_bits: 4, activation_bits: null, verification: null, created_at: AT },
  });
  return artifact_id;
}

/** What one home's stores keep no more goes, unless another home uses it; all but dry runs. */
async function collected(objects: ObjectStore, home: ArtifactStore, keep: string[], more = {}) {
  const asked = { keepGiven: () => false, unclaimed: false, dry_run: false, ...more };
  const found = await collectShared(objects, {
    ...{ home: homeId(home.root), keep: new Set(keep), ...asked },
  });
  return { gone: found.removed.map((one) => one.artifact_id), ...found.kept, parts: found.parts };
}

async function twoHomes(root: string, objects: ObjectStore) {
  const notes: string[] = [];
  const homes = await Promise.all(
    ["first", "second"].map((name) => openArtifactStore(join(root, name))),
  );
  const shared = homes.map((one) => sharedArtifacts(one, objects, (line) => notes.push(line)));
  return { first: shared[0]!, second: shared[1]!, notes };
}

/** The life of two artifacts that share a part, in a store that two homes share. */
async function lives(root: string, objects: ObjectStore): Promise<void> {
  const { first, second, notes } = await twoHomes(root, objects);
  const [one, two] = [await made(first, "one"), await made(first, "two")];
  assert.ok(await second.get(one));
  assert.deepEqual(await collected(objects, first, [], { dry_run: true }), {
    ...{ gone: [two], here: 0, elsewhere: 1, unclaimed: 0, parts: 1 },
  });
  assert.deepEqual(await heldThere(objects), [one, two].sort(), "a dry run removes nothing");
  assert.deepEqual(
    (await collected(objects, first, [])).gone,
    [two],
    "another home uses the other",
  );
  const third = await openArtifactStore(join(root, "third"));
  const fetched = await sharedArtifacts(third, objects, (line) => notes.push(line)).get(one);
  assert.deepEqual(await third.verifyChecksums(fetched!), [], "the part that both had is there");
  await collected(objects, third, []);
  const last = await collected(objects, second, []);
  assert.deepEqual(
    [last.gone, last.parts],
    [[one], 2],
    "the last home that used it is done with it",
  );
  assert.deepEqual(await objects.list(""), []);
  assert.deepEqual(notes, []);
}

Deno.test("an artifact goes from an object store when no home uses it, and a part with its last artifact", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    await lives(root, open(server));
  }));

Deno.test("what a store keeps stays, and what no home says it uses, unless that is asked for", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const objects = open(server);
    const { first } = await twoHomes(root, objects);
    const [one, two] = [await made(first, "one"), await made(first, "two")];
    for (const name of await objects.list(`uses/${two}`)) await objects.remove(name);
    const found = await collected(objects, first, [one]);
    assert.deepEqual(found, { gone: [], here: 1, elsewhere: 0, unclaimed: 1, parts: 0 });
    const again = await collected(objects, first, [one], { unclaimed: true });
    assert.deepEqual([again.gone, await heldThere(objects)], [[two], [one]]);
  }));

/** Answers to a question for a list that say nothing of what is not there. */
const NO_LISTS: Readonly<Record<string, string>> = {
  "a page to log in at": "<html><body>who are you?</body></html>",
  "nothing": "",
  "half a list": "<ListBucketResult><Contents><Key>pare/artifacts/",
  "a page whose next one cannot be asked for":
    "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
  "another folder's": "<ListBucketResult><Key>other/x</Key></ListBucketResult>",
};

Deno.test("nothing is removed by a list that is no whole one, whichever of them it is", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const objects = open(server);
    const { first } = await twoHomes(root, objects);
    const one = await made(first, "one");
    const before = [...server.objects.keys()].sort();
    for (const [number, [what, answer]] of Object.entries(NO_LISTS).entries()) {
      let lists = 0; // five are asked for
      server.answer = (method, name) =>
        method === "GET" && name === "" && lists++ === number ? new Response(answer) : null;
      await assert.rejects(collected(objects, first, [one]), {
        name: "UsageError",
        message: /^Cannot list what begins with pare\/\w+\/: its answer is no whole list$/,
      }, what);
    }
    server.answer = () => null;
    assert.deepEqual([...server.objects.keys()].sort(), before);
  }));

Deno.test("nothing is removed while something is sent, and nothing sent while something is removed", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const objects = open(server);
    const { first, notes } = await twoHomes(root, objects);
    await whileSending(objects, async () => {
      await assert.rejects(
        collected(objects, first, []),
        /now as one is being sent: try again later/,
      );
    });
    await whileCollecting(objects, async () => {
      await made(first, "one");
      await assert.rejects(collected(objects, first, []), /as another `pare gc --objects` does/);
    });
    assert.match(
      notes.join(),
      /Cannot send to s3:\/\/models\/pare now as `pare gc --objects` removes/,
    );
    assert.deepEqual(await heldThere(objects), []);
    await made(first, "two");
    assert.equal((await heldThere(objects)).length, 1);
  }));

/** A model and a dataset: sent from where they lie, lost, fetched to where they lay. */
async function travels(root: string, objects: ObjectStore): Promise<void> {
  const artifacts = await openArtifactStore(join(root, "home"));
  const notes: string[] = [];
  const note = (line: string) => notes.push(line);
  const options = { checksumsOf: artifacts.checksums, home: homeId(artifacts.root), note };
  const [model, data] = [join(root, "models", "m"), join(root, "data.jsonl")];
  await Deno.mkdir(join(model, "sub"), { recursive: true });
  await Deno.writeFile(join(model, "w.safetensors"), new Uint8Array(CHUNK_BYTES + 9).fill(7));
  await Deno.writeTextFile(join(model, "sub", "config.json"), "{}");
  await Deno.writeTextFile(data, '{"text": "a"}\n');
  await shareGiven(objects, [model, data, "gsm8k"], options);
  assert.equal(await sendGiven(objects, model, artifacts.checksums), 0, "it is there");
  await Deno.remove(join(root, "models"), { recursive: true });
  await Deno.remove(data);
  await shareGiven(objects, [model, data, "gsm8k"], options);
  assert.equal(Deno.statSync(join(model, "w.safetensors")).size, CHUNK_BYTES + 9);
  assert.equal(readFileSync(join(model, "sub", "config.json"), "utf8"), "{}");
  assert.equal(readFileSync(data, "utf8"), '{"text": "a"}\n');
  assert.deepEqual(notes, [model, data].map((path) => `${path} was fetched from s3://models/pare`));
  const nobody = join(root, "nobody.jsonl");
  assert.equal(await fetchGiven(objects, nobody), null);
  await shareGiven(objects, [nobody], options);
  // Another home uses the dataset, and a store of this one the model.
  const other = { ...options, home: crypto.randomUUID() };
  await shareGiven(objects, [data], other);
  const here = { keepGiven: (path: string) => path === model };
  const found = await collected(objects, artifacts, [], here);
  assert.deepEqual(found, { gone: [], here: 1, elsewhere: 1, unclaimed: 0, parts: 0 });
  assert.deepEqual((await objects.list("uses/")).length, 2, "this home uses the dataset no more");
  const last = await collected(objects, artifacts, []);
  assert.deepEqual([last.elsewhere, last.parts], [1, 3], "the model goes with its parts");
  assert.deepEqual(await collectedGiven(objects, other.home), [data]);
  assert.deepEqual(await objects.list(""), []);
}

/** Models and datasets that go once this home uses none any more. */
async function collectedGiven(objects: ObjectStore, home: string): Promise<string[]> {
  const none = { keep: new Set<string>(), keepGiven: () => false };
  const asked = { home, ...none, unclaimed: false, dry_run: false };
  return (await collectShared(objects, asked)).given.map(({ path }) => path);
}

Deno.test("a model in line or of a study that goes on stays in the object store, by any way it was named", () =>
  inDirectory(async (root) => {
    const store = join(root, "store");
    const kept = (...names: string[]) => keptGiven([store], { named: new Set(names), unsure: [] });
    assert.ok(kept("./models/m")("/home/me/models/m"));
    assert.ok(kept("../models/m")("/home/me/models/m"));
    assert.ok(kept("~/m.gguf")("/home/me/m.gguf"));
    assert.ok(kept("/models/m")("/models/m"));
    assert.ok(!kept("./models/m", "gsm8k")("/home/me/models/n"));
    assert.ok(!kept("./models/m")("/home/me/othermodels/m"));
    const unsure = [{ store, reason: "it is not there" }];
    assert.ok(keptGiven([], { named: new Set(), unsure })("/models/m"));
    const model = join(root, "own", "m");
    await Deno.mkdir(model, { recursive: true });
    await Deno.writeTextFile(join(model, "config.json"), "{}");
    await submitTo(store, { model_name: model, dataset: "tiny" }, {});
    assert.ok(kept()(model) && !kept()("/models/m"));
  }));

Deno.test("a model and a dataset that lack on a machine are fetched to where they are named", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    await travels(root, open(server));
    // Whose keys are on other machines alone submits all the same.
    const artifacts = await openArtifactStore(join(root, "home"));
    await shareNamed(artifacts, [join(root, "data.jsonl")], { [SHARED_BY]: "s3://models/pare" });
  }));

Deno.test("a model whose fetching was cut off goes on at the part, and one that was changed is not taken", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const objects = open(server);
    const artifacts = await openArtifactStore(join(root, "home"));
    const path = join(root, "model.gguf");
    const weights = new Uint8Array(2 * CHUNK_BYTES).map((_, at) => at >> 24);
    await Deno.writeFile(path, weights);
    await sendGiven(objects, path, artifacts.checksums);
    await Deno.remove(path);
    let left = 2; // what says which parts, and the first of them
    const denied = () => new Response("<Code>AccessDenied</Code>", { status: 403 });
    server.answer = (method) => method === "GET" && left-- <= 0 ? denied() : null;
    await assert.rejects(fetchGiven(objects, path), /403 AccessDenied/);
    assert.ok(!existsSync(path), "a part of a model is no model");
    server.answer = () => null;
    assert.equal(await fetchGiven(objects, path), CHUNK_BYTES, "the first part is here");
    assert.deepEqual(await Deno.readFile(path), weights);
    await Deno.remove(path);
    const name = [...server.objects.keys()].find((one) => one.startsWith("pare/objects/"))!;
    server.objects.set(name, new Uint8Array(CHUNK_BYTES).fill(9));
    await assert.rejects(fetchGiven(objects, path), /holds other bytes than its name says/);
    assert.ok(!existsSync(path));
  }));

Deno.test("a model that was sent anew after its fetching was cut off holds nothing of the one before", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const objects = open(server);
    const artifacts = await openArtifactStore(join(root, "home"));
    const path = join(root, "model");
    const send = async (files: readonly string[]) => {
      await Deno.mkdir(path);
      for (const name of files) await Deno.writeTextFile(join(path, name), name);
      await sendGiven(objects, path, artifacts.checksums);
      await Deno.remove(path, { recursive: true });
    };
    await send(["a", "b", "c"]);
    let left = 3; // what says which parts, and two of them
    server.answer = (method) =>
      method === "GET" && left-- <= 0 ? new Response(null, { status: 403 }) : null;
    await assert.rejects(fetchGiven(objects, path), /403/);
    server.answer = () => null;
    await send(["a", "d"]);
    await fetchGiven(objects, path);
    assert.deepEqual([...Deno.readDirSync(path)].map(({ name }) => name).sort(), ["a", "d"]);
  }));

Deno.test({
  name: "rclone's server: artifacts, a model and a dataset come, stay and go the same way",
  ignore: ignoreUnless(rclone() !== null, NO_RCLONE),
  fn: () =>
    inDirectory(async (root) => {
      const folder = join(root, "served");
      await Deno.mkdir(join(folder, "models"), { recursive: true });
      await using server = await startRclone(folder);
      await lives(root, open(server));
      await travels(root, open(server));
    }),
});
