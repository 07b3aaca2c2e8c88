import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type CallRequest, StudyRequest, UsageError } from "../../../core/mod.ts";
import { overrideVariable } from "../../../python-backends/environments/environments.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { findHome } from "../../../tracker/ground/home.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import { withGiven } from "../../../tracker/lab/given/given_checkpoints.ts";
import { givenPath } from "../../../tracker/lab/given/given_places.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { smallFacts } from "../../core/spec_fixtures.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const registry = await discoverPlugins();

const LLAMA_PYTHON = overrideVariable("llama_cpp");

/** A worker's look at a file: one that is called bad is of another model. */
const look = ((_trial: string, request: CallRequest) => {
  assert.equal(request.call, "inspect_given");
  const names = request.call === "inspect_given" ? request.names : [];
  const given = names.map((path) => {
    const file = basename(path);
    const bad = file.startsWith("bad");
    const facts = {
      ...{ file, kind: "GGUF", file_bytes: 9 },
      weight_bytes: { linear: 4, embedding: 4, rest: 1 },
      forms: { linear: [{ form: "ggml", mix: "Q4_K", bits: 4.5 }], embedding: [null] },
    };
    const problem = bad ? `Cannot use ${file}: it is of another model` : null;
    const hint = bad ? "Give another" : null;
    return { path: bad ? null : path, facts: bad ? null : facts, problem, hint };
  });
  return Promise.resolve({ ok: true, value: { given }, spans: [] });
}) as CallRunner;

async function world() {
  const folder = temporaryFolder("given");
  const home = findHome({ PARE_HOME: folder });
  const artifacts = await openArtifactStore(home.artifacts);
  const file = async (name: string, content: string) => {
    const path = join(folder, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, content);
    return path;
  };
  const tools = { home, registry, artifacts } as never; // nothing else is asked of them
  const study = (checkpoints: readonly string[], more: object = {}) => ({
    request: StudyRequest.parse({
      ...{ model_name: "tiny", dataset: "demo", runtime: "openvino", ...more },
      strategies: checkpoints.map((checkpoint) => ({ checkpoint })),
    }),
    facts: smallFacts(),
    baseline: { location: folder } as never,
    begun: [],
    known: [],
  });
  return { home, artifacts, file, tools, study };
}

Deno.test("a checkpoint is known by its content: the same file twice is one trial", async () => {
  const { home, artifacts, file, tools, study } = await world();
  using _store = artifacts;
  const paths = [await file("a.gguf", "one"), await file("b.gguf", "two")];
  const again = await file("again.gguf", "one");
  const asked = study([...paths, again], { max_trials: 3 });
  const { request, facts, warnings } = await withGiven(tools, look, asked);
  const actions = request.strategies.flatMap((one) => one.actions);
  assert.deepEqual(actions.map(({ params }) => params["file"]), ["a.gguf", "b.gguf"]);
  assert.equal(request.max_trials, 2);
  assert.deepEqual(warnings, ["again.gguf is a.gguf, byte for byte: one trial is both"]);
  assert.equal(facts.given!.length, 2);
  const content = String(actions[0]!.params["content"]);
  assert.equal(await givenPath({ home, artifacts }, content), again);
  await file("again.gguf", "other");
  assert.equal(await givenPath({ home, artifacts }, content), paths[0], "its other copy");
  const text = JSON.stringify(request);
  assert.ok(!text.includes(home.root), "the journal would hold a path");

  // Taken up again, the file is found by its content; one that changed or went is not.
  const taken = { ...asked, request, known: facts.given! };
  const found = await withGiven(tools, look, taken);
  assert.deepEqual(found.request, request);
  await file("a.gguf", "another");
  assert.equal(await givenPath({ home, artifacts }, content), null);
  assert.equal((await withGiven(tools, look, taken)).facts.given!.length, 2, "as it began");
  const alone = await withGiven(tools, look, { ...taken, known: [] });
  assert.deepEqual(alone.facts.given!.map((one) => one.file), ["b.gguf"]);
  // Added to a study that has a trial of it, it is that trial.
  await file("a.gguf", "one");
  const begun = actions.map((one) => ({ ...one }));
  const added = await withGiven(tools, look, { ...study([paths[0]!]), begun });
  assert.deepEqual(added.request.strategies[0]!.actions, [actions[0]]);
  await rm(paths[1]!);
});

Deno.test("files of one name are told apart by their folders, and what is none is refused", async () => {
  const { artifacts, file, tools, study } = await world();
  using _store = artifacts;
  const paths = [await file("x/m.gguf", "one"), await file("y/m.gguf", "two")];
  const { facts } = await withGiven(tools, look, study(paths));
  assert.deepEqual(facts.given!.map((one) => one.file), ["x/m.gguf", "y/m.gguf"]);
  const bad = await file("bad.gguf", "three");
  await assert.rejects(
    withGiven(tools, look, study([paths[0]!, bad])),
    (error) =>
      error instanceof UsageError &&
      error.message === "Cannot use bad.gguf: it is of another model. Give another",
  );
});

Deno.test("files of llama.cpp's are timed there where nobody asks otherwise, and where it is missing that is said", async () => {
  const { artifacts, file, tools, study } = await world();
  using _store = artifacts;
  const asked = study([await file("a.gguf", "one")], { runtime: undefined });
  const at = Deno.env.get(LLAMA_PYTHON);
  Deno.env.delete(LLAMA_PYTHON);
  const { request, warnings } = await withGiven(tools, look, asked); // nothing is made in this home
  assert.equal(request.runtime, undefined);
  assert.match(warnings[0]!, /^llama\.cpp is not set up here, .* pare setup llama_cpp makes it$/);
  Deno.env.set(LLAMA_PYTHON, Deno.execPath()); // of an environment that is there
  try {
    const timed = await withGiven(tools, look, asked);
    assert.equal(timed.request.runtime, "llama.cpp");
    assert.match(timed.assumptions[0]!.reason, /are its own blocks/);
  } finally {
    if (at === undefined) Deno.env.delete(LLAMA_PYTHON);
    else Deno.env.set(LLAMA_PYTHON, at);
  }
});
