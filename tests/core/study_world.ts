import assert from "node:assert/strict";
import {
  type Artifact,
  type Backend,
  type Evaluation,
  type Facts,
  type Failure,
  FULL,
  inferSpec,
  JournalRecord,
  type Outcome,
  predictBytes,
  replayStudy,
  type ResolvedAction,
  runStudy,
  type Sampler,
  type SampleResult,
  type Spec,
  type StudyHistory,
  type StudyInput,
  type StudyPorts,
  type StudyRequestInput,
  type Trial,
} from "../../core/mod.ts";
import { methods, plugins, request, smallFacts } from "./spec_fixtures.ts";
import { figure, qualityOf, texts, words } from "./world_answers.ts";

export { figure, sample } from "./world_answers.ts";

/**
 * A world in which compression has known costs, for the loop's tests: 8 bits cost nothing, 4 bits a
 * few answers, 3 bits more, 2 bits half of them; fewer bits are smaller and faster. Each sample is
 * right or wrong by numbers drawn from its name, so trials and baseline are paired as in earnest.
 */
export interface WorldOptions {
  readonly facts?: Facts;
  readonly spec?: (spec: Spec) => Spec;
  /** Share of right answers that a recipe loses. */
  readonly loss?: (bits: number, actions: readonly ResolvedAction[], rung: string) => number;
  /** Words that each rung takes; texts are a tenth of them. */
  readonly samples?: Readonly<Record<string, number>>;
  /**
   * Seconds that a sample takes, once, and a process beside its samples; absent: no sample says any, and
   * each evaluation takes them all anew.
   */
  readonly sample_seconds?: number;
  readonly fixed?: number;
  /** KL to the original on text, of so many bits; absent: none is measured. */
  readonly kl?: (bits: number) => number;
  /** The rung of that name, at so many bits. */
  readonly likelihood?: (bits: number) => Evaluation;
  /** Called before each backend call; a failure makes it fail. */
  readonly disturb?: (call: Call) => Failure | null | void;
  /** Cores that other work takes while a trial is timed for the nth time; absent: none. */
  readonly busy?: (trial_id: string, nth: number) => number | undefined;
  readonly cosine?: number;
  readonly memory?: (bytes: number) => number;
  readonly protocol?: (call: Call) => string;
  /** Default: those of spec_fixtures.ts. */
  readonly methods?: typeof methods;
}

export interface Call {
  readonly call: "apply" | "evaluate" | "speed";
  readonly trial_id: string;
  readonly recipe: string;
  readonly fidelity: string | null;
  /** Samples of a look at a part of the rung. */
  readonly look?: number;
  /** From 1. */
  readonly count: number;
}

const LOSS: Record<number, number> = { 16: 0, 8: 0, 4: 0.01, 3: 0.04, 2: 0.6 };

export interface World {
  readonly records: JournalRecord[];
  readonly calls: Call[];
  readonly clock: { now(): number; advance(seconds: number): void };
  readonly backend: Backend;
  readonly abort: AbortController;
  readonly stored: { trial_id: string; fidelity: string; evaluation: Evaluation }[];
  readonly input: (more?: Partial<StudyInput>) => StudyInput;
  readonly ports: StudyPorts;
}

const base: Artifact = {
  artifact_id: "base",
  action_key: "base",
  parent_id: null,
  action: null,
  location: "/nowhere",
  files: [],
  size_bytes: 269_000_000,
  formula_bytes: null,
  weight_bits: null,
  activation_bits: null,
  verification: null,
  created_at: "2026-01-01T00:00:00Z",
};

export function failure(kind: Failure["kind"], message = `the world says ${kind}`): Failure {
  return { kind, message, hint: null, phase: null };
}

export function world(asked: Partial<StudyRequestInput> = {}, options: WorldOptions = {}): World {
  const facts = options.facts ?? smallFacts();
  const known = options.methods ?? methods;
  const records: JournalRecord[] = [];
  const calls: Call[] = [];
  const stored: World["stored"] = [];
  const abort = new AbortController();
  const recipes = new Map<string, ResolvedAction[]>([["base", []]]);
  const answered = new Map<string, ReadonlySet<string>>();
  let time = Date.parse("2026-01-01T00:00:00Z");
  const clock = {
    now: () => time,
    advance: (seconds: number) => {
      time += seconds * 1000;
    },
  };
  const studyRequest = request(asked);
  const inferred = inferSpec(studyRequest, facts, plugins);
  const spec = options.spec?.(inferred) ?? inferred;
  const amounts: Readonly<Record<string, number>> = options.samples ??
    { proxy: 100, half: 200, full: 400 };

  async function step<T>(
    about: Omit<Call, "count" | "recipe"> & { actions: readonly ResolvedAction[] },
    seconds: number,
    make: () => T,
  ): Promise<Outcome<T>> {
    await Promise.resolve();
    const recipe = about.actions.map(nameOf).join("+") || "base";
    const { actions: _, ...said } = about;
    const { call } = said;
    const made: Call = { ...said, recipe, count: calls.length + 1 };
    calls.push(made);
    const failed = options.disturb?.(made);
    clock.advance(seconds);
    const spans = [{ name: call, seconds, library: true }];
    if (abort.signal.aborted) return { ok: false, failure: failure("cancelled"), spans };
    if (failed) return { ok: false, failure: failed, spans };
    return { ok: true, value: make(), spans };
  }

  const sizeOf = (actions: readonly ResolvedAction[]) =>
    actions.length === 0 ? base.size_bytes : Math.round(predictBytes(actions, known, facts));

  const backend: Backend = {
    apply(trial_id, parent, action) {
      const actions = [...recipes.get(parent.artifact_id)!, action];
      const id = actions.map(nameOf).join("+");
      const cached = recipes.has(id);
      const bits = bitsOf(actions);
      return step({ call: "apply", trial_id, fidelity: null, actions }, cached ? 0 : 10, () => {
        recipes.set(id, actions);
        const artifact: Artifact = {
          ...base,
          artifact_id: id,
          action_key: id,
          parent_id: parent.artifact_id,
          action,
          size_bytes: sizeOf(actions),
          weight_bits: bits,
          verification: {
            layers: 4,
            minimum_cosine: options.cosine ?? 0.99,
            mean_cosine: 0.99,
            worst_layer: "layers.0",
            generated_text: "once",
            seconds: 1,
          },
        };
        return { artifact, cached };
      });
    },
    async evaluate(trial_id, artifact, fidelity, action_index, look) {
      const actions = recipes.get(artifact.artifact_id)!;
      const n = amounts[fidelity]!;
      const part = look?.rows ?? null;
      const rows = (task: string) => new Set(part?.[task] ?? []);
      const taken = (one: SampleResult) =>
        part === null || rows(one.task).has(Number(one.sample_id));
      const about = {
        call: "evaluate" as const,
        trial_id,
        fidelity,
        actions,
        ...(part === null ? {} : { look: Object.values(part).flat().length }),
      };
      const { sample_seconds: each, fixed = 0 } = options;
      const wanted = each === undefined ? [] : [...words(n, 0), ...texts(n / 10, 0)].filter(taken);
      const known = answered.get(artifact.artifact_id) ?? new Set();
      const fresh = wanted.filter(({ sample_hash }) => !known.has(sample_hash));
      answered.set(
        artifact.artifact_id,
        new Set([...known, ...fresh.map((one) => one.sample_hash)]),
      );
      const taken_seconds = each === undefined
        ? (about.look ?? n) / 20
        : fixed + each * fresh.length;
      const outcome = await step(about, taken_seconds, (): Evaluation => {
        const bits = bitsOf(actions);
        if (fidelity === "likelihood") return options.likelihood!(bits);
        const loss = options.loss?.(bits, actions, fidelity) ?? LOSS[bits] ?? 0.01;
        const asked = spec.rungs.find((rung) => rung.fidelity === fidelity)?.samples ?? {};
        const samples = [...words(n, loss), ...texts(n / 10, loss)].filter(taken)
          .filter(({ task }) => fidelity !== "kl" || task in asked)
          .map((one) => each === undefined ? one : { ...one, seconds: each });
        const kl = options.kl?.(bits);
        const hash = options.protocol?.(calls.at(-1)!) ?? `${fidelity}-1`;
        return {
          measurements: ["words", "words_text"]
            .filter((task) => samples.some((one) => one.task === task))
            .map((task) => qualityOf(task, samples, fidelity))
            .flatMap((row) =>
              kl === undefined || row.metric !== "perplexity"
                ? [row]
                : [row, { ...row, metric: "kl", value: kl, standard_error: kl / 20 }]
            ),
          samples,
          protocol: { words: hash, words_text: hash },
        };
      });
      if (outcome.ok && action_index === undefined && part === null) {
        stored.push({ trial_id, fidelity, evaluation: outcome.value });
      }
      return outcome;
    },
    speed(trial_id, artifact, baseline, runtime, alone) {
      const actions = recipes.get(artifact.artifact_id)!;
      const about = { call: "speed" as const, trial_id, fidelity: null, actions };
      return alone(() =>
        step(about, 5, () => {
          const bytes = sizeOf(actions);
          const memory = options.memory?.(bytes) ?? bytes + 100e6;
          const busy_cores = options.busy?.(
            trial_id,
            calls.filter((one) => one.call === "speed" && one.trial_id === trial_id).length,
          );
          return {
            measurements: [
              {
                ...figure("latency_ms", latency(bytes), runtime, 0.01),
                ...(busy_cores === undefined ? {} : { busy_cores }),
              },
              figure("memory_bytes", memory, runtime, null),
              { ...figure("energy_j_per_1k_tokens", 9, runtime, null), provenance: "estimated" },
            ],
            baseline_measurements: baseline === null
              ? []
              : [figure("latency_ms", latency(base.size_bytes), runtime, 0.01)],
          };
        })
      );
    },
  };

  const ports: StudyPorts = {
    backend,
    tracker: {
      record(record) {
        records.push(JournalRecord.parse(record));
        return Promise.resolve();
      },
    },
    ask: {
      interactive: false,
      number: (_, fallback) => Promise.resolve(fallback),
    },
    clock,
    signal: abort.signal,
  };

  return {
    records,
    calls,
    clock,
    backend,
    abort,
    stored,
    ports,
    input: (more = {}) => ({
      study_id: "study",
      request: studyRequest,
      facts,
      spec,
      methods: known,
      samplers: [inOrder],
      provenance: {
        command: "pare run",
        code_commit: null,
        pare_version: "0",
        environments: {},
        model_revision: null,
      },
      baseline: base,
      ...more,
    }),
  };
}

/** Runs a study of the world to its end. */
export async function run(w: World, more: Partial<StudyInput> = {}) {
  return await runStudy(w.input(more), w.ports);
}

/** The samples of a trial's full evaluation, as a view asks for them; null: it has none. */
export function samplesIn({ stored }: Pick<World, "stored">) {
  return (trial_id: string) => {
    const full = stored.findLast((one) => one.trial_id === trial_id && one.fidelity === FULL);
    return Promise.resolve(full?.evaluation.samples ?? null);
  };
}

/** What the store gives back to go on with a study of this world, after so many records. */
export function historyOf(w: World, count = w.records.length): StudyHistory {
  const study = replayStudy(w.records.slice(0, count), "study")!;
  const evaluations = w.stored.map(({ trial_id, fidelity, evaluation }) => ({
    ...{ trial_id, fidelity, samples: evaluation.samples, protocol: evaluation.protocol },
  }));
  return { study, evaluations };
}

/** The trial whose strategy's name holds these words. */
export function named(trials: readonly Trial[], part: string): Trial {
  const found = trials.find(({ strategy }) => strategy?.strategy_id.includes(part));
  assert.ok(found, `no trial is named like ${part}`);
  return found;
}

function nameOf({ method, params }: ResolvedAction): string {
  return `${method}${JSON.stringify(params)}`;
}

function bitsOf(actions: readonly ResolvedAction[]): number {
  const bits = actions.map((action) => Number(action.params["bits"] ?? 8));
  return bits.length === 0 ? 16 : Math.min(...bits);
}

function latency(bytes: number): number {
  return 5 + 20 * bytes / base.size_bytes;
}

/** Recipes in a fixed order, each once; nothing when they are used up. */
export const RECIPES = [3, 8, 4, 2].flatMap((bits) =>
  [32, 64].map((group_size) => ({
    agent: "shrinking",
    method: "round",
    params: { bits, group_size, targets: "both" },
  }))
);

export const inOrder: Sampler = {
  kind: "sampler",
  name: "in_order",
  summary: "takes the next of a list",
  propose({ trials }) {
    const tried = trials.map((trial) => JSON.stringify(trial.strategy?.actions[0]?.params));
    const next = RECIPES.find(({ params }) => !tried.includes(JSON.stringify(params)));
    return next === undefined
      ? null
      : { actions: [next], origin: { mode: "explore", reason: "next in the list" } };
  },
};
