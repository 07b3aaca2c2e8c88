import { basename, dirname } from "node:path";
import {
  type Action,
  type Artifact,
  type Assumption,
  type CallResult,
  type Facts,
  type GivenFacts,
  type RegisteredMethod,
  type Registry,
  type RunRequest,
  UsageError,
} from "../../../core/mod.ts";
import { type CallRunner, refusal } from "../runner/call_runner.ts";
import { modelName } from "../runner/gather_facts.ts";
import type { Tools } from "../runner/workshop.ts";
import { givenPath, keepPlace } from "./given_places.ts";
import { withGivenRuntime } from "./given_runtime.ts";

/** What a study is given beside its model, and what it knows of it already. */
export interface GivenToStudy {
  readonly request: RunRequest;
  readonly facts: Facts;
  readonly baseline: Artifact;
  /** Actions of trials that it has begun. */
  readonly begun: readonly Action[];
  /** What was known of checkpoints as it began. */
  readonly known: readonly GivenFacts[];
}

/** The request with every checkpoint by its content, what is known of each, and what is to be said. */
interface WithGiven {
  readonly request: RunRequest;
  readonly facts: Facts;
  readonly assumptions: readonly Assumption[];
  readonly warnings: readonly string[];
}

const HUB_NAME = /^[\w.-]+\/[\w.-]+(?<!\.gguf)$/;

type Inspected = CallResult<"inspect_given">["given"][number];

/** The method that takes what was made elsewhere. */
function givenMethod({ methods }: Registry): RegisteredMethod {
  return methods.find(({ method }) => method.needs.given === true)!; // it ships
}

/** The checkpoints that actions name. */
function givenIn(actions: readonly Action[], { agent, method }: RegisteredMethod): Action[] {
  return actions.filter((one) => one.agent === agent && one.method === method.name);
}

async function inspect(
  runner: CallRunner,
  { location }: Artifact,
  names: readonly string[],
): Promise<Inspected[]> {
  if (names.length === 0) return [];
  const asked = { original_dir: location, names: [...names] };
  const outcome = await runner("setup", { call: "inspect_given", ...asked }, "default");
  if (!outcome.ok) throw refusal(outcome.failure);
  return outcome.value.given;
}

/** Refuses, before any work, what is no checkpoint of the model: a sentence each. */
function requireSound(inspected: readonly Inspected[]): void {
  const wrong = inspected.flatMap(({ problem, hint }) =>
    problem === null ? [] : [hint === null ? problem : `${problem}. ${hint}`]
  );
  if (wrong.length > 0) throw new UsageError(wrong.join("\n"));
}

/** Its file's name; with its folder's where another one has the same. */
function shownName(file: string, path: string, all: readonly string[]): string {
  const twice = all.filter((one) => one === file).length > 1;
  return twice ? `${basename(dirname(path))}/${file}` : file;
}

/** Looks at checkpoints that were named by path or hub name, and writes down where they lie. */
async function named(
  tools: Tools,
  runner: CallRunner,
  baseline: Artifact,
  names: readonly string[],
): Promise<GivenFacts[]> {
  const inspected = await inspect(runner, baseline, names.map(modelName));
  requireSound(inspected);
  const files = inspected.map(({ facts }) => facts!.file);
  const found: GivenFacts[] = [];
  for (const { path, facts } of inspected) {
    const file = shownName(facts!.file, path!, files);
    found.push({ ...facts!, file, content: await keepPlace(tools, file, path!) });
  }
  return found;
}

/** What is known of checkpoints by their content: what is there and sound is looked at again. */
async function recalled(
  tools: Tools,
  runner: CallRunner,
  { baseline, known }: GivenToStudy,
  actions: readonly Action[],
): Promise<GivenFacts[]> {
  const wanted = new Map(
    actions.map(({ params }) => [String(params.content), String(params.file)]),
  );
  const places = await Promise.all(
    [...wanted].map(async ([content, file]) => ({
      ...{ content, file },
      path: await givenPath(tools, content) ?? (HUB_NAME.test(file) ? file : null),
    })),
  );
  const there = places.filter(({ path }) => path !== null);
  const inspected = await inspect(runner, baseline, there.map(({ path }) => path!));
  const found: GivenFacts[] = [];
  for (const [at, { content, file }] of there.entries()) {
    const { facts, path } = inspected[at]!;
    // What the hub has of that name may be another one by now.
    const same = path !== null && await keepPlace(tools, file, path) === content;
    if (facts !== null && same) found.push({ ...facts, content, file });
  }
  const gone = known.filter((one) => !found.some(({ content }) => content === one.content));
  return [...found, ...gone];
}

/**
 * Names by their content the checkpoints that a request names by path, each once, and tells what they
 * and those of earlier trials are. What is no checkpoint of the model is refused in a sentence.
 */
export async function withGiven(
  tools: Tools,
  runner: CallRunner,
  study: GivenToStudy,
): Promise<WithGiven> {
  const { request, facts, baseline, begun } = study;
  const entry = givenMethod(tools.registry);
  const own = givenIn(request.strategies.flatMap(({ actions }) => actions), entry);
  const isNew = ({ params }: Action) => params.content === undefined;
  const before = await recalled(tools, runner, study, [
    ...givenIn(begun, entry),
    ...own.filter((action) => !isNew(action)),
  ]);
  const fresh = own.filter(isNew);
  const names = fresh.map(({ params }) => String(params.file));
  const looked = await named(tools, runner, baseline, names);
  if (looked.length + before.length === 0) {
    return { request, facts, assumptions: [], warnings: [] };
  }
  const given = new Map(before.map((one) => [one.content, one]));
  const warnings: string[] = [];
  const twice = new Set<Action>();
  const actions = new Map(fresh.map((action, at) => {
    const one = looked[at]!;
    const first = given.get(one.content);
    if (first === undefined) given.set(one.content, one);
    else {
      const same = first.file === one.file
        ? "was given already"
        : `is ${first.file}, byte for byte`;
      warnings.push(`${one.file} ${same}: one trial is both`);
      if (fresh.slice(0, at).some((_, earlier) => looked[earlier]!.content === one.content)) {
        twice.add(action);
      }
    }
    const { file, content } = first ?? one;
    return [action, { ...action, params: { file, content } }];
  }));
  const strategies = request.strategies.flatMap((strategy) => {
    if (strategy.actions.some((action) => twice.has(action))) return [];
    return [{ ...strategy, actions: strategy.actions.map((one) => actions.get(one) ?? one) }];
  });
  // Where the candidates are all that is tried, one that is there twice is one trial less.
  const all = request.max_trials === request.strategies.length;
  const limit = all ? { max_trials: strategies.length } : {};
  const whole = { ...facts, given: [...given.values()] };
  const asked = { ...request, ...limit, strategies };
  const timed = await withGivenRuntime(asked, whole, entry, tools);
  return { ...timed, facts: whole, warnings: [...warnings, ...timed.warnings] };
}
