/** A model that lacks on a machine, fetched from an object store: it is whole at its path, or not there. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fetchGiven, sendGiven } from "../../../tracker/artifacts/remote/given.ts";
import {
  type ObjectStore,
  openObjectStore,
} from "../../../tracker/artifacts/remote/object_store.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import { s3InMemory } from "../../fixtures/s3_server.ts";
import { sometimes } from "../loop.ts";
import { acknowledge, type Workload } from "./workload.ts";

const FILES: Readonly<Record<string, string>> = {
  "config.json": "{}",
  "model.safetensors": "weights ".repeat(200),
  "tokenizer/words": "a b c",
};

const modelOf = (root: string) => join(root, "models", "m");
/** Beside what is traced: what the object store holds. */
const objectsOf = (root: string) => `${root}.objects`;

/** Of an object store that holds what was sent. */
async function withObjects<T>(
  root: string,
  work: (objects: ObjectStore) => Promise<T>,
): Promise<T> {
  await using server = s3InMemory();
  for (const name of existsSync(objectsOf(root)) ? readdirSync(objectsOf(root)) : []) {
    server.objects.set(decodeURIComponent(name), Deno.readFileSync(join(objectsOf(root), name)));
  }
  const made = await work(openObjectStore("s3://models/pare", server.env, { waits_ms: [] }));
  Deno.mkdirSync(objectsOf(root), { recursive: true });
  for (const [name, bytes] of server.objects) {
    Deno.writeFileSync(join(objectsOf(root), encodeURIComponent(name)), bytes);
  }
  return made;
}

const fetched = (root: string) =>
  withObjects(root, (objects) => fetchGiven(objects, modelOf(root)));

async function work(root: string): Promise<void> {
  await fetched(root);
  acknowledge("fetched");
  Deno.exit(0);
}

/** Files below a folder, and what they hold. */
function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(
    files.map((path) => [relative(folder, path), Deno.readTextFileSync(path)]),
  );
}

export const givenWorkload: Workload = {
  name: "given",
  script: import.meta.filename!,
  adds_up: true,
  async prepare(root) {
    rmSync(objectsOf(root), { recursive: true, force: true });
    for (const [name, text] of Object.entries(FILES)) {
      const path = join(modelOf(root), name);
      Deno.mkdirSync(dirname(path), { recursive: true });
      Deno.writeTextFileSync(path, text);
    }
    const checksums = Object.entries(FILES).map(([path, text]) => ({
      ...{ path, bytes: text.length, sha256: sha256Text(text) },
    }));
    await withObjects(
      root,
      (objects) => sendGiven(objects, modelOf(root), () => Promise.resolve(checksums)),
    );
    rmSync(modelOf(root), { recursive: true });
  },
  async check(root, acknowledged, _nth, hit) {
    const model = modelOf(root);
    // Nobody promises what a disk has lied about, but that it can be fetched again.
    if (hit?.lied === true) rmSync(model, { recursive: true, force: true });
    if (existsSync(model)) {
      assert.deepEqual(contentOf(model), FILES, "half a model is taken for one");
      sometimes("a fetched model is whole after a power cut");
    } else assert.deepEqual(acknowledged, [], "the model that was fetched is gone");
    await fetched(root);
    assert.deepEqual(contentOf(model), FILES);
  },
};

if (import.meta.main) await work(Deno.args[0]!);
