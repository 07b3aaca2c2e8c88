import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Artifact,
  type CacheSetting,
  type KnobValue,
  namedCache,
  resolveCache,
  type Runtime,
  type RuntimeCaches,
  type ScoredCache,
  type TimedCache,
  TURN_TOKENS,
  unknownName,
  UsageError,
} from "../../core/mod.ts";
import { makeForms } from "../lab/runner/forms/runtime_form.ts";
import { namedRuntime } from "../lab/runner/source_closure.ts";
import { refusal } from "../lab/runner/call_runner.ts";
import { viewStudy } from "../show/view/view_study.ts";
import type { Store } from "../store/store.ts";
import { runnerBeside, type Watched } from "./prepared_text.ts";
import { scoreCaches, settingsToScore, tasksToScore } from "./score_caches.ts";
import type { SessionInput } from "./start_study.ts";

/** What `study.caches()` may be told. */
export interface CachesOptions extends Watched {
  /** One whose cache can be set; default: the first that lets go of tokens. */
  readonly runtime?: string;
  /** A trial, whose weights are measured, without a policy of torch's; default: the original. */
  readonly trial?: string;
  /** Tokens of a prompt; default: 1,024, 2,048 and 4,096, as far as the model reads. */
  readonly contexts?: readonly number[];
  /** Names of the runtime's settings, or knobs with their values; default: all that it names. */
  readonly settings?: readonly (string | Readonly<Record<string, KnobValue>>)[];
  /** Generated after each prompt; default 64. */
  readonly new_tokens?: number;
  /** Whether each setting is also scored on the study's benchmarks, by what it generates; "paying": those that
   * surely cost less than the full cache, where a benchmark tells anything of them. */
  readonly scores?: boolean | "paying";
  /** Of each benchmark; default: all of the first rung. */
  readonly samples?: number;
  /** Pairs of prompts, of a setting and of the full cache in turn; default 3. */
  readonly passes?: number;
}

/** What was measured of the settings of a runtime's cache (SQL: cache_timings). */
export interface MeasuredCaches {
  readonly study_id: string;
  readonly artifact_id: string;
  readonly runtime: string;
  readonly runtime_version: string;
  readonly threads: number;
  readonly load_average: number;
  readonly bytes_method: string;
  /** The setting that the others are held against. */
  readonly full: string;
  readonly caches: readonly TimedCache[];
  /** Absent: they were not asked for. */
  readonly scores?: readonly ScoredCache[];
  /** Why settings that pay could not be scored; absent: they were, or it was not asked for. */
  readonly unscored?: string;
  readonly refused: readonly { readonly setting: string; readonly reason: string }[];
  /** By setting, what the runtime's own program is told; absent: it has none. */
  readonly launches?: Readonly<Record<string, string[]>>;
}

const CONTEXTS = [1024, 2048, 4096];
const NEW_TOKENS = 64;
const PASSES = 3;

type WithCaches = Runtime & { readonly caches: RuntimeCaches };

/** The runtime whose cache is set. */
function runtimeOf(runtimes: readonly Runtime[], name: string | undefined): WithCaches {
  const able = runtimes.filter((one): one is WithCaches => one.caches !== undefined);
  // Where nobody names one, the one that lets go of tokens: it has the most to tell.
  const found = name === undefined
    ? able.find(({ caches }) => caches.forgets) ?? able[0]
    : able.find((one) => one.name === name);
  if (found !== undefined) return found;
  const names = able.map((one) => one.name);
  if (runtimes.some((one) => one.name === name)) {
    throw new UsageError(
      `Cannot set the cache of ${name}: its cache is one way; take ${names.join(" or ")}`,
    );
  }
  throw new UsageError(unknownName("runtime", name ?? "", names));
}

/** The settings that are measured, the full cache first. */
function settingsOf(
  caches: RuntimeCaches,
  asked: CachesOptions["settings"] = Object.keys(caches.settings),
): CacheSetting[] {
  const [full = ""] = Object.keys(caches.settings);
  const made = [full, ...asked].map((one) =>
    typeof one === "string"
      ? resolveCache(caches, one, namedCache(caches, one))
      : resolveCache(caches, Object.entries(one).map((pair) => pair.join("=")).join(","), one)
  );
  // One may be asked for by its name and by its knobs.
  const seen = new Set<string>();
  const each = made.filter(({ params }) => {
    const key = JSON.stringify(params);
    return !seen.has(key) && seen.add(key);
  });
  if (each.length > 1) return each;
  throw new UsageError(`Cannot compare ${full} with nothing: name another setting of the cache`);
}

/** The runtime and the settings that were asked for. Throws `UsageError` where they are none. */
export function checkedCaches(
  runtimes: readonly Runtime[],
  { runtime: name, settings }: Pick<CachesOptions, "runtime" | "settings">,
): { runtime: WithCaches; settings: CacheSetting[] } {
  const runtime = runtimeOf(runtimes, name);
  return { runtime, settings: settingsOf(runtime.caches, settings) };
}

/** Lengths of a prompt that the model can read with what is generated after it. */
function contextsOf(
  { contexts, new_tokens = NEW_TOKENS }: CachesOptions,
  context_length: number,
): number[] {
  const most = context_length - new_tokens - TURN_TOKENS; // the last turn is a whole one
  if (contexts === undefined) {
    const usual = CONTEXTS.filter((one) => one <= most);
    return usual.length > 0 ? usual : [Math.max(1, most)];
  }
  const long = contexts.find((one) => one > most);
  if (long !== undefined) {
    throw new UsageError(
      `Cannot measure a cache with a prompt of ${long} tokens and ${new_tokens} new ones: the ` +
        `model reads ${context_length}`,
    );
  }
  return [...new Set(contexts)].sort((a, b) => a - b);
}

/** The checkpoint of a trial, or the original; of one whose last action sets the cache, its weights. */
async function artifactOf(
  { tools, study_id, baseline }: SessionInput,
  store: Store,
  trial: string | undefined,
): Promise<Artifact> {
  if (trial === undefined) return baseline;
  const view = await viewStudy(store, study_id);
  const found = view.trials.find(({ trial_id }) =>
    trial_id === trial || trial_id.endsWith(`/${trial}`)
  );
  const names = view.trials.map(({ trial_id }) => trial_id);
  if (found === undefined) throw new UsageError(unknownName("trial", trial, names));
  const last = found.artifact_ids.at(-1);
  // A policy of torch's is left out: the weights that it runs on are measured, under the runtime's settings.
  const of = (last === undefined ? undefined : view.artifacts.get(last)?.weights_id) ?? last;
  if (of === undefined || of === baseline.artifact_id) return baseline;
  const held = await tools.artifacts.get(of);
  if (held !== null) return held;
  throw new UsageError(
    `Cannot measure the caches of ${trial} as its files are gone: run its strategy again, which ` +
      "makes them anew",
  );
}

/** Why no benchmark of the study can be scored: the times stand without. */
function refusedOnly(error: unknown): string {
  if (error instanceof UsageError) return error.message;
  throw error;
}

/** What the runtime's own program is told for each setting, where it has one. */
function launchesOf({ launch }: RuntimeCaches, settings: readonly CacheSetting[]) {
  if (launch === undefined) return {};
  return {
    launches: Object.fromEntries(settings.map(({ name, params }) => [name, launch(params)])),
  };
}

/**
 * Speed and bytes of a runtime's cache under several settings, each in turn with the full cache: kept in
 * the store (SQL: cache_timings).
 */
export async function studyCaches(
  session: SessionInput,
  options: CachesOptions = {},
): Promise<MeasuredCaches> {
  const { tools, study_id, request, facts } = session;
  const { runtime, settings } = checkedCaches(tools.registry.runtimes, options);
  const support = runtime.supports(facts);
  if (!support.ok) {
    throw new UsageError(`Cannot measure caches in ${runtime.name} here: ${support.reason}`);
  }
  const contexts = contextsOf(options, facts.model.context_length);
  await using inUse = await session.store.use();
  const { store } = inUse;
  const artifact = await artifactOf(session, store, options.trial);
  const runner = runnerBeside(session, store, options);
  const scorable = { ...options, forgets: runtime.caches.forgets };
  const asked = options.scores === true ? await tasksToScore(session, store, scorable) : null;
  const scratch = await mkdtemp(join(tmpdir(), "pare-caches-"));
  try {
    const place = { workshop: tools, runner, trial_id: "setup", runtime, precision: undefined };
    const forms = await makeForms({ ...place, artifact, baseline: null }, scratch);
    if (!forms.ok) throw refusal(forms.failure);
    const seed = request.seed ?? 0;
    const outcome = await runner("setup", {
      call: "time_caches",
      ...namedRuntime(runtime),
      artifact_dir: artifact.location,
      form_dir: forms.value.form_dir ?? "",
      settings,
      contexts,
      new_tokens: options.new_tokens ?? NEW_TOKENS,
      turn_tokens: TURN_TOKENS,
      passes: options.passes ?? PASSES,
      seed,
    }, runtime.needs.environment);
    if (!outcome.ok) throw refusal(outcome.failure);
    const { caches, refused } = outcome.value;
    const worth = settingsToScore(settings, caches, refused, options.scores === "paying");
    const found = options.scores === "paying" && worth.length > 1
      ? await tasksToScore(session, store, scorable).catch(refusedOnly)
      : asked;
    const [tasks, unscored] = typeof found === "string" ? [null, { unscored: found }] : [found, {}];
    const scores = tasks === null ? {} : {
      scores: await scoreCaches(
        { tools, runner, runtime, artifact, form_dir: forms.value.form_dir ?? "", ...tasks },
        worth,
      ),
    };
    const launches = launchesOf(runtime.caches, settings);
    const own = { study_id, artifact_id: artifact.artifact_id, runtime: runtime.name };
    const at = tools.timestamp();
    await store.record({
      type: "caches_timed",
      at,
      ...own,
      seed,
      settings,
      ...outcome.value,
      ...scores,
      ...launches,
    });
    const { numerics: _, version, ...measured } = outcome.value;
    const full = settings[0]!.name;
    const told = { ...measured, ...scores, ...unscored, ...launches };
    return { ...own, runtime_version: version, full, ...told };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
