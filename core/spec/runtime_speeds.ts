import { precisionWords, runtimeWords } from "../metrics/runtime_words.ts";
import { Z95 } from "../evidence/statistics.ts";
import type { Facts, RuntimeSpeed } from "../schemas/facts.ts";
import type { RunnableIn, Spec } from "../schemas/spec.ts";

/** Runtimes that were timed with the original, the fastest first, each in its fastest precision. */
export function fastestFirst({ runtimes = [] }: Pick<Facts, "runtimes">): RunnableIn[] {
  const timed = runtimes.flatMap(({ runtime, precision, latency_ms }) =>
    latency_ms === null ? [] : [{ runtime, precision, latency_ms }]
  ).sort((a, b) => a.latency_ms - b.latency_ms);
  return timed.filter(({ runtime }, at) =>
    timed.findIndex((one) => one.runtime === runtime) === at
  );
}

/** Sessions in turn after which timings of a busy machine may tell runtimes apart. */
const BUSY_SESSIONS = 3;
/** What such a timing may be off beside its error, as a share of it. */
const BUSY_SHARE = 0.1;

/**
 * Whether other work disturbed timings of the original, which were not repeated in turn: they decide
 * nothing. One precision's repetition speaks for its runtime: another that overtakes it, timed less
 * often, was slowed at most.
 */
export function isDisturbed({ runtimes = [] }: Pick<Facts, "runtimes">): boolean {
  const repeated = new Set(
    runtimes.filter(({ sessions = 1 }) => sessions >= BUSY_SESSIONS).map(({ runtime }) => runtime),
  );
  return runtimes.some((one) =>
    one.busy_cores !== undefined && !repeated.has(one.runtime) &&
    fastestFirst({ runtimes }).some(({ runtime, precision }) =>
      runtime === one.runtime && precision === one.precision
    )
  );
}

function errorOf({ standard_error, busy_cores, latency_ms }: RuntimeSpeed): number {
  const busy = busy_cores === undefined ? 0 : BUSY_SHARE * latency_ms!;
  return Math.hypot(standard_error ?? 0, busy);
}

/** Timings than which none is surely faster, by the error of each; the fastest first. */
function nearFastest(
  { runtimes = [] }: Pick<Facts, "runtimes">,
  error: (one: RuntimeSpeed) => number,
): RuntimeSpeed[] {
  const timed = runtimes.filter(({ latency_ms }) => latency_ms !== null)
    .sort((a, b) => a.latency_ms! - b.latency_ms!);
  const [first] = timed;
  if (first === undefined) return [];
  return timed.filter((one) =>
    one.latency_ms! - first.latency_ms! <= Z95 * Math.hypot(error(one), error(first))
  );
}

const namesOf = (rows: readonly Pick<RuntimeSpeed, "runtime">[]) => [
  ...new Set(rows.map(({ runtime }) => runtime)),
];

/** Runtimes than which none is surely faster with the original; none where the timings decide nothing. */
export function unbeaten(facts: Pick<Facts, "runtimes">): string[] {
  return isDisturbed(facts) ? [] : namesOf(nearFastest(facts, errorOf));
}

/** What one session alone may be off, as a share of it: other work may go unnoticed by its passes. */
const SINGLE_SHARE = 0.15;

function singleError(one: RuntimeSpeed): number {
  const alone = (one.sessions ?? 1) === 1 ? SINGLE_SHARE * one.latency_ms! : 0;
  return Math.hypot(errorOf(one), alone);
}

/** What another timing in turn may tell apart; empty: no choice between runtimes is left. */
export function toTimeAgain(
  facts: Pick<Facts, "runtimes">,
): Pick<RuntimeSpeed, "runtime" | "precision">[] {
  const rivals = isDisturbed(facts) ? fastestFirst(facts) : nearFastest(facts, singleError);
  return namesOf(rivals).length < 2 ? [] : rivals;
}

/**
 * Sessions of one runtime as one timing: that of the fastest, since other work only lengthens a session
 * and one that it disturbed shall decide nothing. Its error is at least how far the next one is off, and
 * that of the steadier of both: a single slow pass of three says little where another session agrees.
 */
export function ofSessions(sessions: readonly RuntimeSpeed[]): RuntimeSpeed {
  const timed = sessions.filter(({ latency_ms }) => latency_ms !== null)
    .sort((a, b) => a.latency_ms! - b.latency_ms!);
  const [first, second] = timed;
  if (first === undefined) return sessions.at(-1)!;
  if (second === undefined) return first;
  const apart = second.latency_ms! - first.latency_ms!;
  return {
    ...first,
    standard_error: Math.max(
      Math.min(first.standard_error ?? 0, second.standard_error ?? 0),
      apart,
    ),
    sessions: timed.length,
  };
}

/** In which precision a runtime runs weights that are all floats; undefined: its own. */
export function precisionIn(
  { runtimes = [] }: Pick<Spec, "runtimes">,
  runtime: string,
): string | undefined {
  return runtimes.find((one) => one.runtime === runtime)?.precision;
}

/** A time per token with three digits. */
function ms(value: number): string {
  return `${Number(value.toPrecision(3))} ms`;
}

/** How fast every runtime at hand ran the original, in each precision: "llama.cpp 8.5 ms (float16)". */
export function speedsSaid({ runtimes = [] }: Pick<Facts, "runtimes">): string {
  return Map.groupBy(runtimes, ({ runtime }) => runtime).entries().map(([name, rows]) => {
    const timed = rows.filter(({ latency_ms }) => latency_ms !== null)
      .sort((a, b) => a.latency_ms! - b.latency_ms!)
      .map(({ precision, latency_ms }) => `${ms(latency_ms!)} in ${precisionWords(precision)}`);
    const failed = rows.flatMap(({ precision, reason }) =>
      reason === null ? [] : [`${precisionWords(precision)} failed: ${reason}`]
    );
    return `${name} ${[...timed, ...failed].join(", ")}`;
  }).toArray().join("; ");
}

/** That another runtime surely runs the original faster than the study's own; null: none does. */
export function fasterElsewhere(
  runtime: string,
  facts: Pick<Facts, "runtimes">,
): string | null {
  const first = unbeaten(facts);
  const runtimes = fastestFirst(facts);
  const [fastest] = runtimes;
  const own = runtimes.find((one) => one.runtime === runtime);
  if (fastest === undefined || first.length === 0 || first.includes(runtime)) return null;
  const beside = own === undefined
    ? `; ${runtime} was not timed`
    : `, in ${runtimeWords(runtime, own.precision)} ${ms(own.latency_ms)}`;
  return `The original is fastest in ${runtimeWords(fastest.runtime, fastest.precision)}: ` +
    `${ms(fastest.latency_ms)} a token${beside}`;
}
