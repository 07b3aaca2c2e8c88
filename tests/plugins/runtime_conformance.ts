import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { type Change, type Runtime, type WireTask } from "../../core/mod.ts";
import { findEnvironment } from "../../python-backends/environments/environments.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { namedRuntime, runtimeFolder } from "../../tracker/lab/runner/source_closure.ts";
import { must, type TinyWorld } from "../tiny_model.ts";
import type { Step } from "./conformance.ts";

const ENVIRONMENT = { environment: "default" };
/** Nats: the same weights in float32 give 1e-8, one wrong layer far more. */
const LARGEST_STRICT_KL = 1e-6;
const TOKENS = 32;
/** The files of a runtime that has a form of its own. */
const OF_FORM = ["make.py", "logits.py", "model.py"];

/** What a runtime is tried with. */
export interface RuntimeTrial {
  readonly world: TinyWorld;
  /** Directories of the tiny model and of artifacts of it that every runtime here holds. */
  readonly artifacts: readonly string[];
  /** What the methods that there are leave. */
  readonly changes: readonly Change[];
  /** A task of the tiny model. */
  readonly task: WireTask;
}

/**
 * What every runtime must keep, in steps: its two halves agree, it answers for every form that is
 * stored, and with the tiny model it makes its form, generates, computes transformers' logits and
 * scores. A runtime that does not run on this machine, or whose environment is not here, says so.
 */
export async function runtimeConformance(
  runtime: Runtime,
  trial: RuntimeTrial,
  step: Step,
): Promise<void> {
  await step("its Python half is the folder of its name", () => checkPythonHalf(runtime));
  await step("it says of every change and form whether it holds it", () => {
    checkHolds(runtime, trial);
  });
  const missing = await whyNotHere(runtime, trial);
  if (missing !== null) {
    console.log(`${runtime.name} is not run: ${missing}`);
    return;
  }
  for (const precision of runtime.precisions?.(trial.world.facts) ?? []) {
    await step(`it runs the tiny model in ${precision}`, async () => {
      const [artifact_dir] = trial.artifacts;
      const form_dir = await madeForm(runtime, artifact_dir!, trial, false, precision);
      const { numerics } = await timed(runtime, { artifact_dir: artifact_dir!, form_dir }, trial, {
        precision,
      });
      assert.equal(numerics.inference_precision, precision);
    });
  }
  let form_dir: string | null = null;
  for (const [number, directory] of trial.artifacts.entries()) {
    const what = number === 0 ? "the tiny model" : `artifact ${number} of it`;
    await step(`it generates, proves and scores ${what}`, async () => {
      // All of one architecture: a form that they share is made once, of the first.
      const kept = runtime.form?.shared === "architecture" ? form_dir : null;
      form_dir = kept ?? await madeForm(runtime, directory, trial, false);
      await checkRun(runtime, { artifact_dir: directory, form_dir }, trial);
    });
  }
}

function checkPythonHalf(runtime: Runtime): void {
  const { name, summary, formats, needs, form } = runtime;
  const folder = runtimeFolder(runtime);
  const package_file = join(folder, "__init__.py");
  if (runtime.python_dir === undefined) {
    assert.ok(existsSync(package_file), `${name} has no Python half ${folder}`);
    assert.match(readFileSync(package_file, "utf8"), new RegExp(`^NAME = "${name}"$`, "m"));
  }
  assert.ok(existsSync(join(folder, "session.py")), `${folder} has no session.py`);
  for (const file of OF_FORM) {
    assert.equal(existsSync(join(folder, file)), form !== null, `${file}: has ${name} a form?`);
  }
  for (const environment of [needs.environment, form?.environment ?? needs.environment]) {
    const pins = join(PYTHON_ROOT, "envs", environment, "requirements.txt");
    assert.ok(existsSync(pins), `${name} needs the environment ${environment}: no ${pins}`);
  }
  for (const line of [summary, formats]) assert.match(line, /^\S.*[^.]$/, "a line, no full stop");
}

/** Whoever multiplies everything out may hold a form that nobody knows; others refuse it. */
function checkHolds(runtime: Runtime, { world, changes }: RuntimeTrial): void {
  const unknown = { part: "linear", effect: "encodes", form: { form: "unheard-of" } } as const;
  const known = runtime.holds({ ...unknown, least_cosine: null }, world.facts);
  assert.ok(runtime.emulates !== undefined || !known.ok, "it holds what nobody knows");
  const support = runtime.supports(world.facts);
  const held = changes.map((change) => runtime.holds(change, world.facts));
  for (const answer of [support, known, ...held]) {
    if (!answer.ok) assert.match(answer.reason, /^\S.*[^.]$/, "a reason ends a sentence");
  }
}

/** Why it cannot be run here; null: it can. */
async function whyNotHere(
  { supports, needs, form }: Runtime,
  { world }: RuntimeTrial,
): Promise<string | null> {
  const support = supports(world.facts);
  if (!support.ok) return support.reason;
  for (const name of [needs.environment, form?.environment ?? needs.environment]) {
    if (await findEnvironment(name) === null) return `the environment ${name} is not here`;
  }
  return null;
}

/** What it says of a pass. */
async function timed(
  runtime: Runtime,
  { artifact_dir, form_dir }: { artifact_dir: string; form_dir: string | null },
  { world: { client } }: RuntimeTrial,
  more: { precision?: string } = {},
) {
  return must(
    await client.run({
      call: "speed",
      ...namedRuntime(runtime),
      artifact_dir,
      form_dir,
      baseline_dir: null,
      baseline_form_dir: null,
      prompt_tokens: 8,
      new_tokens: 4,
      least_passes: 1,
      most_passes: 1,
      half_width: 0.02,
      seed: 1,
      cpu_power: null,
      carbon_intensity: null,
      ...more,
    }, runtime.needs),
  );
}

async function checkRun(
  runtime: Runtime,
  { artifact_dir, form_dir }: { artifact_dir: string; form_dir: string | null },
  trial: RuntimeTrial,
): Promise<void> {
  const { client, folder } = trial.world;
  const own = await mkdtemp(join(folder, "form-"));
  const speed = await timed(runtime, { artifact_dir, form_dir }, trial);
  const latency = speed.measurements.find(({ metric }) => metric === "latency_ms");
  assert.ok(latency !== undefined && latency.value > 0 && latency.runtime === runtime.name);
  assert.ok(speed.bytes_read_per_token > 0);
  if (form_dir === null) return;
  const logits_path = join(own, "logits.npz");
  const exact = runtime.form?.shared === "artifact"
    ? await madeForm(runtime, artifact_dir, trial, true)
    : form_dir;
  const { tokens } = must(
    await client.run({
      call: "runtime_logits",
      ...namedRuntime(runtime),
      artifact_dir,
      form_dir,
      exact_form_dir: exact ?? form_dir,
      tokens: TOKENS,
      seed: 1,
      output_path: logits_path,
    }, runtime.needs),
  );
  assert.equal(tokens, TOKENS);
  const asked = {
    call: "prove_runtime",
    runtime: runtime.name,
    artifact_dir,
    logits_path,
  } as const;
  const proof = must(await client.run(asked, ENVIRONMENT));
  assert.ok(proof.strict_kl <= LARGEST_STRICT_KL, `strict logits are ${proof.strict_kl} nats off`);
  assert.deepEqual(proof.numerics, speed.numerics);
  await checkScores(runtime, { artifact_dir, form_dir, own }, trial);
}

/** The runtime's form of an artifact; null: it loads the checkpoint itself. */
async function madeForm(
  runtime: Runtime,
  artifact_dir: string,
  { world }: RuntimeTrial,
  exact: boolean,
  precision?: string,
): Promise<string | null> {
  const { form } = runtime;
  if (form === null) return null;
  const output_dir = await mkdtemp(join(world.folder, "made-"));
  const what = { call: "make_form", ...namedRuntime(runtime) } as const;
  const floats = precision === undefined ? {} : { precision };
  const request = { ...what, artifact_dir, output_dir, exact, ...floats };
  const { size_bytes } = must(await world.client.run(request, form));
  assert.ok(size_bytes > 0);
  return output_dir;
}

async function checkScores(
  { name, needs, python_dir }: Runtime,
  { artifact_dir, form_dir, own }: { artifact_dir: string; form_dir: string; own: string },
  { world, task }: RuntimeTrial,
): Promise<void> {
  const python = await world.client.pythonOf(needs.environment);
  const scored = must(
    await world.client.run({
      call: "evaluate",
      artifact_dir,
      tasks: [task],
      selections: [{ task: task.task, rows: [0, 1] }],
      fidelity: "proxy",
      batch_size: 16,
      samples_path: join(own, "samples.parquet"),
      seed: 1,
      batched_apart: [],
      answers_path: null,
      answer_chars: 20,
      runtime: {
        name,
        form_dir,
        python,
        ...(python_dir === undefined ? {} : { runtime_dir: python_dir }),
      },
      allow_unsafe_code: false,
    }, ENVIRONMENT),
  );
  assert.equal(scored.samples, 2);
  for (const { metric, runtime } of scored.measurements) {
    assert.match(metric, /^runtime_/);
    assert.equal(runtime, name);
  }
}
