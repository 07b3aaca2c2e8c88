import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdtemp } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Action,
  type Artifact,
  type Boldness,
  boundedMethods,
  type CallResult,
  type Change,
  checkStrategy,
  describedKnobs,
  type Knob,
  type Method,
  ModelFacts,
  type RegisteredMethod,
  resolveAction,
  type ResolvedAction,
  resolvedSchema,
  totalBytes,
  triedLoader,
  UsageError,
  verificationGate,
} from "../../core/mod.ts";
import { workerVariables } from "../../python-backends/client.ts";
import { exchange } from "../../python-backends/worker/exchange.ts";
import { readSetting } from "../../tracker/artifacts/artifact_files.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { spawnWorker } from "../../python-backends/worker/worker_process.ts";
import { must, type TinyWorld, WINDOW_TOKENS, WINDOWS } from "../tiny_model.ts";
import { settingConformance } from "./setting_conformance.ts";

const BOLDNESS: readonly Boldness[] = ["conservative", "balanced", "aggressive"];
const PACKAGE = fileURLToPath(new URL("../../python-backends/pare_backends/", import.meta.url));
/** How far the bytes that a method predicts may lie from those of the formulas of what it wrote. */
const BYTES_OFF = 0.01;

/** What the tiny world has of each kind of text. */
const MOST = {
  calibration: { windows: WINDOWS, tokens: WINDOW_TOKENS },
  training: { windows: WINDOWS, tokens: WINDOW_TOKENS },
};

/** Of the tiny model, for a method that leaves a setting of its weights. */
const PARENT_ID = "0123456789abcdef";

/** A runner of named steps, such as `t.step` of a Deno test. */
export type Step = (name: string, check: () => void | Promise<void>) => Promise<unknown>;

/**
 * What every method must keep, in steps: its two halves agree, it refuses what it does not know in
 * words, its estimates are numbers, and its first proposal makes a real artifact of the tiny model
 * that verifies. `entry` comes from a registry, a third party's from `makeRegistry` of its agent.
 */
export async function methodConformance(
  given: RegisteredMethod,
  there: TinyWorld,
  step: Step,
): Promise<void> {
  const world = withNeeds(given, there);
  const [entry = given] = boundedMethods([given], MOST);
  const { method } = entry;
  await step("its Python half is the file of its name", () => checkPythonHalf(entry));
  await step("knobs have the same names and types on both sides", () => {
    return checkKnobs(given, world);
  });
  await step("an unknown knob is refused in words on both sides", () => {
    return checkUnknownKnob(entry, world);
  });
  await step("a knob that counts only under a condition names another knob and its values", () => {
    for (const [name, { only_where }] of Object.entries(entry.method.knobs)) {
      if (only_where === undefined) continue;
      const { knob, is } = only_where;
      assert.ok(knob in entry.method.knobs && knob !== name, `${name} hangs on ${knob}`);
      const above = { [knob]: entry.method.knobs[knob]! };
      for (const value of is) assert.ok(resolvedSchema(above).safeParse({ [knob]: value }).success);
    }
  });
  await step("the same facts give the same proposals, which fit its knobs and the model", () => {
    checkProposals(entry, world);
  });
  await step("its order and its next steps are ones that the core can use", () => {
    for (const action of proposals(entry, world)) checkNext(entry, action, world);
    checkOrderOf(entry, world);
  });
  await step("estimates are positive and finite, and it says what it leaves", () => {
    for (const action of proposals(entry, world)) checkEstimates(method, action, world);
  });
  await step("its first proposal makes an artifact of the tiny model that verifies", () => {
    return checkFirstProposal(entry, world);
  });
  await step("no knob takes more windows of text than there are", () => {
    checkCalibration(given, world);
  });
}

/** The knobs that name the model itself as a checkpoint that was made elsewhere. */
const GIVEN = { file: "model", content: "0123456789abcdef" };

/** The world with what a method asks for: the program that it runs beside, what it is given. */
function withNeeds({ method: { needs } }: RegisteredMethod, world: TinyWorld): TinyWorld {
  const { linear_parameters, embedding_parameters, parameters } = world.facts.model;
  const rest = parameters - linear_parameters - embedding_parameters;
  const itself = {
    ...{ ...GIVEN, kind: "floats", file_bytes: 2 * parameters },
    weight_bytes: {
      linear: 2 * linear_parameters,
      embedding: 2 * embedding_parameters,
      rest: 2 * rest,
    },
    forms: { linear: [null], embedding: [null] },
  };
  const more = {
    ...(needs.tool === undefined ? {} : { tools: [needs.tool] }),
    ...(needs.given === true ? { given: [itself] } : {}),
  };
  return { ...world, facts: { ...world.facts, ...more } };
}

function checkPythonHalf({ agent, method, python_path }: RegisteredMethod): void {
  const path = python_path ?? join(PACKAGE, agent, `${method.name}.py`);
  assert.ok(existsSync(path), `${method.name} has no Python half ${path}`);
  assert.equal(basename(path), `${method.name}.py`);
  assert.match(method.summary, /^[A-Z].*[^.]$/, "a summary is one line without a full stop");
}

async function checkKnobs(entry: RegisteredMethod, { client }: TinyWorld): Promise<void> {
  const { agent, method, python_path } = entry;
  const more = python_path === null ? {} : { python_path };
  const { environment } = method.needs;
  const { methods } = must(await client.run({ call: "describe", ...more }, { environment }));
  const described = methods.find((one) =>
    one.method === method.name && (python_path !== null || one.agent === agent)
  );
  assert.ok(described !== undefined, `Python describes no ${agent}/${method.name}`);
  const declared = Object.entries(method.knobs).map(([name, knob]) => {
    assert.ok(knob.description.length > 0, `knob ${name} has no description`);
    return [name, typeOf(knob)];
  });
  assert.deepEqual(described.knobs, Object.fromEntries(declared));
}

function typeOf({ kind, choices }: Knob): string {
  if (kind !== "choice") return { flag: "bool", integer: "int", real: "float" }[kind];
  if (choices!.every((one) => typeof one === "string")) return "str";
  return choices!.every(Number.isInteger) ? "int" : "float";
}

async function checkUnknownKnob(entry: RegisteredMethod, world: TinyWorld): Promise<void> {
  const knob = Object.keys(entry.method.knobs)[0] ?? "knob";
  const wrong = `${knob}z`;
  const near = new RegExp(`Unknown knob.*"${wrong}".*Did you mean "${knob}"`);
  const action = { agent: entry.agent, method: entry.method.name, params: { [wrong]: 1 } };
  assert.throws(
    () => resolveAction(action, [entry], world.facts),
    (error) => error instanceof UsageError && near.test(error.message),
  );
  const outcome = await runLightApply(entry, { [wrong]: 1 }, world);
  assert.ok(!outcome.ok, "the Python half took an unknown knob");
  assert.equal(outcome.failure.kind, "bad_input");
  assert.match(outcome.failure.message, near);
}

/** The method's own first tries on the tiny model, resolved; "auto" in every knob is one of them. */
function proposals({ agent, method }: RegisteredMethod, { facts }: TinyWorld): ResolvedAction[] {
  const resolve = (params: Action["params"]) =>
    resolveAction({ agent, method: method.name, params }, [{ agent, method }], facts);
  if (method.needs.given === true) return [resolve(GIVEN)];
  const automatic = Object.fromEntries(Object.keys(method.knobs).map((name) => [name, "auto"]));
  const seeds = BOLDNESS.map((boldness) => method.seed(boldness, facts));
  return [...seeds.filter((params) => params !== null), automatic].map(resolve);
}

function checkProposals(entry: RegisteredMethod, world: TinyWorld): void {
  const first = proposals(entry, world);
  assert.deepEqual(proposals(entry, world), first);
  // Alone, it would learn from the uncompressed model what that model knows, or lead back to it.
  const { teacher, reference, given } = entry.method.needs;
  const alone = teacher !== true && reference !== true && given !== true;
  assert.equal(first.length > 1, alone, `${entry.method.name} proposes ${first.length} tries`);
  for (const action of first) {
    const verdict = checkStrategy([action], [entry], world.facts);
    assert.ok(
      verdict.ok,
      `${JSON.stringify(action.params)} is refused: ${JSON.stringify(verdict)}`,
    );
  }
}

/** What it would try next fits its knobs and is something else; the same facts, the same step. */
function checkNext(entry: RegisteredMethod, action: ResolvedAction, { facts }: TinyWorld): void {
  const { method } = entry;
  for (const finding of ["lost", "kept"] as const) {
    const next = method.next(action.params, finding, facts);
    assert.deepEqual(method.next(action.params, finding, facts), next);
    if (next === null) continue;
    assert.ok(resolvedSchema(method.knobs).safeParse(next).success, JSON.stringify(next));
    assert.notDeepEqual(next, action.params);
  }
}

/** An action twice on one part goes or is refused as its order says, with the reason it gives. */
function checkOrderOf(entry: RegisteredMethod, world: TinyWorld): void {
  const { method } = entry;
  const { effect, follows, precedes, reason } = method.order;
  const action = proposals(entry, world)[0]!;
  const twice = checkStrategy([action, action], [entry], world.facts);
  if (follows.includes(effect) && precedes.includes(effect)) return;
  assert.ok(!twice.ok, `${method.name} may stand twice though its order does not say so`);
  assert.ok(twice.reason.endsWith(reason), twice.reason);
  assert.match(reason, /^it [a-z].*[^.]$/, "a reason ends a sentence: it …");
}

/** Its changes are ones that the gate can judge by, and its order's effect is among theirs. */
function checkLeaves(method: Method, { params }: ResolvedAction, { facts }: TinyWorld): void {
  const { changes, model } = method.leaves(params, facts);
  assert.ok(changes.length > 0, `${method.name} changes nothing`);
  assert.ok(changes.some(({ effect }) => effect === method.order.effect));
  for (const { part, least_cosine } of changes) {
    const sound = least_cosine === null || (least_cosine > 0 && least_cosine <= 1);
    assert.ok(sound, `the least cosine of ${part} is ${least_cosine}`);
  }
  assert.deepEqual(method.leaves(params, facts).model, model);
  ModelFacts.parse(model);
}

function checkEstimates(method: Method, action: ResolvedAction, world: TinyWorld): void {
  checkLeaves(method, action, world);
  const [{ params }, { facts }] = [action, world];
  for (
    const [name, value] of Object.entries({
      seconds: method.estimateSeconds(params, facts),
      memory: method.estimateMemory(params, facts),
      bytes: totalBytes(method.leaves(params, facts).model),
    })
  ) assert.ok(Number.isFinite(value) && value > 0, `${name} is ${value}`);
}

async function checkFirstProposal(entry: RegisteredMethod, world: TinyWorld): Promise<void> {
  const action = proposals(entry, world)[0]!;
  const { answer, directory } = await runApply(entry, action.params, world);
  const applied = must(answer);
  const predicted = totalBytes(entry.method.leaves(action.params, world.facts).model);
  assert.ok(
    Math.abs(applied.formula_bytes - predicted) <= BYTES_OFF * predicted,
    `${applied.formula_bytes} bytes were written, ${predicted} predicted`,
  );
  checkModel(entry.method.leaves(action.params, world.facts).model, applied.model, entry.method);
  const request = {
    call: "verify",
    artifact_dir: directory,
    source_dir: world.model_dir,
    weights_dir: await readSetting(directory) === null ? undefined : world.model_dir,
    plain_load: applied.loader === "transformers",
  } as const;
  // A setting is known where its method is applied; weights are known everywhere.
  const isSetting = request.weights_dir !== undefined;
  const environment = isSetting ? entry.method.needs.environment : "default";
  const verified = must(await world.client.run(request, { environment }));
  const { changes } = entry.method.leaves(action.params, world.facts);
  const gate = verificationGate(madeOf(applied, verified, changes));
  assert.equal(gate.decision, "pass", gate.reason);
  const tried = triedLoader(applied, verified.plain_load);
  assert.equal(tried.loader, applied.loader, tried.notes[0]);
  assert.ok(verified.generated_text.length > 0);
  if (request.weights_dir !== undefined) {
    await settingConformance(
      directory,
      entry.method.leaves(action.params, world.facts).model,
      world,
      environment,
    );
  }
}

/** The artifact as far as the gate of verification looks at it. */
function madeOf(
  { size_bytes, formula_bytes, weight_bits, activation_bits }: CallResult<"apply">,
  { cosines: _cosines, ...verification }: CallResult<"verify">,
  changes: readonly Change[],
): Artifact {
  return {
    artifact_id: "made",
    action_key: "made",
    parent_id: null,
    action: null,
    location: "",
    files: [],
    size_bytes,
    formula_bytes,
    weight_bits,
    activation_bits,
    verification,
    changes: changes.map((change) => ({ ...change, form: change.form && { ...change.form } })),
    created_at: "2026-01-01T00:00:00Z",
  };
}

/** The model that a method says it leaves is the one that its files hold. */
function checkModel(said: ModelFacts, held: Partial<ModelFacts>, { name }: Method): void {
  const shape = (model: Partial<ModelFacts>) => ({
    layers: model.layers,
    hidden_size: model.hidden_size,
    intermediate_size: model.intermediate_size,
    heads: model.heads,
    kv_heads: model.kv_heads,
    parameters: model.parameters,
    linear_parameters: model.linear_parameters,
  });
  assert.deepEqual(shape(said), shape(held), `${name} leaves another model than it says`);
}

/** One window or token more than exist is refused, with how much there is: none is cut in silence. */
function checkCalibration({ agent, method }: RegisteredMethod, world: TinyWorld): void {
  const most = { windows: WINDOWS, tokens: WINDOW_TOKENS };
  const bounded = boundedMethods([{ agent, method }], MOST);
  for (const [name, knob] of Object.entries(method.knobs)) {
    if (knob.takes === undefined) continue;
    const params = { [name]: most[knob.takes] + 1 };
    assert.throws(
      () => resolveAction({ agent, method: method.name, params }, bounded, world.facts),
      new RegExp(
        `${name} is a whole number .* gives ${WINDOWS} windows of ${WINDOW_TOKENS} tokens`,
      ),
    );
  }
}

function applyRequest(
  { agent, method, python_path }: RegisteredMethod,
  params: Action["params"],
  output_dir: string,
  world: TinyWorld,
) {
  return {
    call: "apply",
    parent_dir: world.model_dir,
    output_dir,
    agent,
    method: method.name,
    params,
    calibration_path: method.needs.data === "calibration" ? world.calibration_path : null,
    training_path: method.needs.data === "training" ? world.calibration_path : null,
    seed: 1,
    python_path,
    ...(python_path === null ? {} : { knobs: describedKnobs(method.knobs) }),
    parent_id: PARENT_ID,
    ...(method.needs.teacher === true
      ? { original_dir: world.model_dir, original_cache: join(world.folder, "teacher") }
      : {}),
    ...(method.needs.given === true ? { given_path: world.model_dir } : {}),
    ...(method.needs.reference === true ? { reference_dir: join(world.folder, "before") } : {}),
  } as const;
}

async function runApply(entry: RegisteredMethod, params: Action["params"], world: TinyWorld) {
  const directory = await mkdtemp(join(world.folder, `${entry.method.name}-`));
  const { environment, reference, tool } = entry.method.needs;
  const request = {
    ...applyRequest(entry, params, directory, world),
    ...(tool === undefined ? {} : { tool_python: await world.client.pythonOf(tool) }),
  };
  // A model that was rounded to what it was already: the factors have nothing to take back.
  if (reference) await cp(world.model_dir, join(world.folder, "before"), { recursive: true });
  return { answer: await world.client.run(request, { environment }), directory };
}

/** The same without torch imported first: for what ends before it is needed. */
async function runLightApply(entry: RegisteredMethod, params: Action["params"], world: TinyWorld) {
  const python = await world.client.pythonOf(entry.method.needs.environment);
  const worker = spawnWorker({
    python,
    args: ["-m", "pare_backends.worker", "--supervised"],
    cwd: PYTHON_ROOT,
    env: workerVariables(1, {}),
    log_path: join(world.folder, `${entry.method.name}.log`),
  });
  const request = applyRequest(entry, params, join(world.folder, "unwritten"), world);
  return await exchange(worker, request, { request_id: "light", threads: 1 });
}
