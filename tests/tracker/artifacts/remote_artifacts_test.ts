/** Artifacts by an object store: what is sent, what is fetched, and what is refused. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Artifact } from "../../../core/mod.ts";
import {
  type ArtifactStore,
  openArtifactStore,
} from "../../../tracker/artifacts/artifact_store.ts";
import { CHUNK_BYTES, names } from "../../../tracker/artifacts/remote/manifest.ts";
import { openObjectStore } from "../../../tracker/artifacts/remote/object_store.ts";
import { sharedArtifacts } from "../../../tracker/artifacts/remote/shared_artifacts.ts";
import {
  heldThere,
  pullArtifact,
  pushArtifact,
} from "../../../tracker/artifacts/remote/transfer.ts";
import { sha256Text } from "../../../tracker/ground/storage/file_hash.ts";
import {
  KEYS,
  NO_RCLONE,
  rclone,
  type S3InMemory,
  s3InMemory,
  startRclone,
} from "../../fixtures/s3_server.ts";
import { AT } from "../../fixtures/stores/records.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { ignoreUnless } from "../../run/counts.ts";

const ADDRESS = "s3://models/pare";
const KEY = sha256Text("an action");
const META = {
  ...{ action_key: KEY, parent_id: null, action: null, formula_bytes: null, weight_bits: 4 },
  ...{ activation_bits: null, verification: null, created_at: AT },
};

/** Weights of two whole parts and a bit, which differ from each other. */
const WEIGHTS = new Uint8Array(2 * CHUNK_BYTES + 1000).map((_, at) => at >> 20);

async function made(artifacts: ArtifactStore, config = "{}"): Promise<Artifact> {
  const folder = await artifacts.begin();
  await Deno.writeFile(join(folder, "model.safetensors"), WEIGHTS);
  await Deno.mkdir(join(folder, "sub"));
  await Deno.writeTextFile(join(folder, "sub", "config.json"), config);
  await Deno.writeTextFile(join(folder, "empty"), "");
  return await artifacts.commit(folder, META);
}

const there = ({ env }: { env: Record<string, string> }, waits_ms = [1, 1]) =>
  openObjectStore(ADDRESS, env, { waits_ms });

/** Two machines that share nothing but the object store. */
async function two(root: string) {
  const [first, second] = await Promise.all(
    ["first", "second"].map((name) => openArtifactStore(join(root, name))),
  );
  return { first: first!, second: second! };
}

const puts = ({ asked }: S3InMemory) => asked.filter((one) => one.startsWith("PUT")).length;

Deno.test("an artifact goes by its content: what is there is not sent again, and what comes is verified", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const { first, second } = await two(root);
    const objects = there(server);
    const artifact = await made(first);
    const { bytes, sent } = await pushArtifact(objects, artifact);
    assert.deepEqual([bytes, sent], [WEIGHTS.length + 2, WEIGHTS.length + 2]);
    const before = puts(server);
    assert.equal((await pushArtifact(objects, artifact)).sent, 0);
    assert.equal(puts(server), before + 1, "what it was made by alone");
    const other = await made(first, '{"other": 1}');
    assert.equal((await pushArtifact(objects, other)).sent, 12, "its weights are there");
    assert.deepEqual(
      await heldThere(objects),
      [artifact.artifact_id, other.artifact_id].sort(),
    );
    const pulled = await pullArtifact(objects, second, artifact.artifact_id);
    assert.deepEqual(await second.verifyChecksums(pulled!.artifact), []);
    assert.deepEqual({ ...pulled!.artifact, location: "" }, { ...artifact, location: "" });
    assert.equal(await pullArtifact(objects, second, "0".repeat(16)), null);
  }));

Deno.test("a transfer that is cut off goes on where it was, on either side", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const { first, second } = await two(root);
    const objects = there(server);
    const artifact = await made(first);
    const denied = () => new Response("<Code>AccessDenied</Code>", { status: 403 });
    let left = 3; // that it sends, and two parts
    server.answer = (method) => method === "PUT" && left-- <= 0 ? denied() : null;
    await assert.rejects(
      pushArtifact(objects, artifact),
      /it answered 403 AccessDenied: look at the/,
    );
    const arrived = server.objects.size;
    assert.equal(arrived, 2);
    assert.deepEqual(await heldThere(objects), [], "what is not whole is not there");
    server.answer = () => null;
    const { bytes, sent } = await pushArtifact(objects, artifact);
    assert.ok(sent < bytes && sent > 0, `${sent} of ${bytes}`);

    left = 3; // the manifest and two parts
    server.answer = (method) => method === "GET" && left-- <= 0 ? denied() : null;
    await assert.rejects(pullArtifact(objects, second, artifact.artifact_id), /403 AccessDenied/);
    assert.equal(await second.get(artifact.artifact_id), null);
    server.answer = () => null;
    const again = await pullArtifact(objects, second, artifact.artifact_id);
    assert.ok(again!.sent < again!.bytes && again!.sent > 0, `${again!.sent} of ${again!.bytes}`);
    assert.deepEqual(await second.verifyChecksums(again!.artifact), []);
  }));

Deno.test("what may pass is asked again: a busy server, and an answer that is cut off", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const { first, second } = await two(root);
    const artifact = await made(first);
    let asked = 0;
    server.answer = () => asked++ % 2 === 0 ? new Response("slow down", { status: 503 }) : null;
    await pushArtifact(there(server), artifact);
    const cut = () => {
      const body = new ReadableStream({ start: (one) => one.close() });
      return new Response(body, { headers: { "content-length": "100" } });
    };
    server.answer = (method) => method === "GET" && asked++ % 2 === 0 ? cut() : null;
    const pulled = await pullArtifact(there(server), second, artifact.artifact_id);
    assert.deepEqual(await second.verifyChecksums(pulled!.artifact), []);
    server.answer = () => new Response(null, { status: 500 });
    await assert.rejects(
      there(server).size("x"),
      /Cannot look for x: it answered 500; it was tried 3 times/,
    );
  }));

Deno.test("what somebody else changed there is refused, and nothing of it is kept", () =>
  inDirectory(async (root) => {
    await using server = s3InMemory();
    const { first, second } = await two(root);
    const objects = there(server);
    const artifact = await made(first);
    const { artifact_id } = artifact;
    await pushArtifact(objects, artifact);
    const manifest = `pare/${names.manifest(artifact_id)}`;
    const whole = server.objects.get(manifest)!;
    const text = new TextDecoder().decode(whole);
    const config = sha256Text("{}");
    const refused: [string, RegExp][] = [
      [text.replaceAll("sub/config.json", "../config.json"), /are those of another artifact/],
      [text.slice(0, -9), /its manifest is no JSON/],
      [text.replace('"version":1', '"version":2'), /its manifest: version: /],
      [
        text.replace(`[["${config}",2]]`, `[["${config}",3]]`),
        /the parts of sub\/config\.json are not its 2 bytes/,
      ],
      [
        text.replace(`[["${config}",2]]`, `[["${sha256Text("[]")}",2]]`),
        /the parts of sub\/config\.json are those of another file/,
      ],
    ];
    server.objects.set(`pare/${names.chunk(sha256Text("[]"))}`, new TextEncoder().encode("[]"));
    for (const [changed, sentence] of refused) {
      assert.notEqual(changed, text);
      server.objects.set(manifest, new TextEncoder().encode(changed));
      await assert.rejects(pullArtifact(objects, second, artifact_id), sentence);
    }
    server.objects.set(manifest, whole);
    const part = `pare/${names.chunk(sha256Text("{}"))}`;
    server.objects.set(part, new TextEncoder().encode("{x"));
    await assert.rejects(
      pullArtifact(objects, second, artifact_id),
      /Cannot fetch objects\/.* holds other bytes than its name says/,
    );
    assert.deepEqual(readdirSync(second.root).filter((name) => /^[0-9a-f]{16}$/.test(name)), []);
  }));

Deno.test("one machine's action is another's artifact; a server that is gone is told of once", () =>
  inDirectory(async (root) => {
    const server = s3InMemory();
    const { first, second } = await two(root);
    const notes: string[] = [];
    const shared = (one: ArtifactStore) =>
      sharedArtifacts(one, there(server, []), (line) => notes.push(line));
    assert.equal(await shared(second).find(KEY), null);
    const artifact = await made(shared(first));
    const found = await shared(second).find(KEY);
    assert.equal(found?.artifact_id, artifact.artifact_id);
    assert.equal(found?.location, join(second.root, artifact.artifact_id));
    const asked = server.asked.length;
    await shared(second).find(KEY);
    assert.equal(server.asked.length, asked, "it is here now");
    await server[Symbol.asyncDispose]();
    assert.deepEqual(notes, []);
    const alone = shared(await openArtifactStore(join(root, "third")));
    assert.equal(await alone.find(KEY), null);
    assert.equal(await alone.find(KEY), null);
    assert.equal((await made(alone)).artifact_id, artifact.artifact_id, "it goes on without");
    assert.match(notes[0]!, /^Cannot fetch made\/.*\.json: .*; it was tried 1 times/);
    assert.equal(new Set(notes).size, notes.length);
    assert.ok(!notes.join().includes(KEYS.AWS_SECRET_ACCESS_KEY));
  }));

Deno.test("an address and keys that cannot be are one sentence each", () => {
  const open = (address: string, env: Record<string, string>) => () =>
    openObjectStore(address, env);
  for (const wrong of ["s3:/a", "s3://Upper/x", "s3://bucket/../x", "models/pare", "s3://b"]) {
    assert.throws(
      open(wrong, KEYS),
      /Cannot use ".*" as an object store: write s3:\/\/BUCKET\/PREFIX/,
    );
  }
  assert.throws(open(ADDRESS, {}), /without keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/);
  assert.throws(
    open(ADDRESS, { ...KEYS, AWS_ENDPOINT_URL: "here" }),
    /Cannot use AWS_ENDPOINT_URL "here"/,
  );
});

Deno.test({
  name: "rclone's server: the same there and back, and its signature is checked",
  ignore: ignoreUnless(rclone() !== null, NO_RCLONE),
  fn: () =>
    inDirectory(async (root) => {
      const folder = join(root, "served");
      await Deno.mkdir(join(folder, "models"), { recursive: true });
      await using server = await startRclone(folder);
      const { first, second } = await two(root);
      const artifact = await made(first);
      await pushArtifact(there(server), artifact);
      assert.equal((await pushArtifact(there(server), artifact)).sent, 0);
      assert.deepEqual(await heldThere(there(server)), [artifact.artifact_id]);
      const pulled = await pullArtifact(there(server), second, artifact.artifact_id);
      assert.deepEqual(await second.verifyChecksums(pulled!.artifact), []);
      const stranger = { ...server.env, AWS_SECRET_ACCESS_KEY: "another" };
      await assert.rejects(heldThere(there({ env: stranger })), (error: Error) => {
        assert.match(error.message, /it answered 403 .*: look at the keys/);
        return !error.message.includes("another");
      });
      const elsewhere = openObjectStore("s3://nowhere/x", server.env, { waits_ms: [] });
      await assert.rejects(heldThere(elsewhere), /make (it|the bucket) first/);
    }),
});
