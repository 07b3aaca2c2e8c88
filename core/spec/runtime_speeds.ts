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

/** Whether other work disturbed timings of the original, which were not repeated in turn: they decide nothing. */
export function isDisturbed({ runtimes = [] }: Pick<Facts, "runtimes">): boolean {
  return runtimes.some((one) =>
    one.busy_cores !== undefined && (one.sessions ?? 1) < BUSY_SESSIONS &&
    fastestFirst({ runtimes }).some(({ runtime, precision }) =>
      runtime === one.runtime && precision === one.precision
    )
  );
}

function errorOf({ standard_error, busy_cores, latency_ms }: RuntimeSpeed): number {
  const busy = busy_cores === undefined ? 0 : BUSY_SHARE * latency_ms!;
  return Math.hypot(standard_error ?? 0, busy);
}

/** Runtimes than which none is surely faster with the original; none where the timings decide nothing. */
export function unbeaten(facts: Pick<Facts, "runtimes">): string[] {
  const timed = (facts.runtimes ?? []).filter(({ latency_ms }) => latency_ms !== null)
    .sort((a, b) => a.latency_ms! - b.latency_ms!);
  const [first] = timed;
  if (first === undefined || isDisturbed(facts)) return [];
  const near = timed.filter((one) =>
    one.latency_ms! - first.latency_ms! <= Z95 * Math.hypot(errorOf(one), errorOf(first))
  );
  return [...new Set(near.map(({ runtime }) => runtime))];
}

/** Runtimes that another timing in turn may tell apart; empty: nothing is left to decide. */
export function toTimeAgain(facts: Pick<Facts, "runtimes">): string[] {
  const rivals = isDisturbed(facts)
    ? fastestFirst(facts).map(({ runtime }) => runtime)
    : unbeaten(facts);
  return rivals.length < 2 ? [] : rivals;
}

/** Two timings of one runtime as one: sessions may differ by more than the passes of each do. */
export function pooledSpeed(a: RuntimeSpeed, b: RuntimeSpeed): RuntimeSpeed {
  if (a.latency_ms === null || b.latency_ms === null) return a.latency_ms === null ? a : b;
  const passes = a.passes + b.passes;
  const [own, other] = [a.passes / passes, b.passes / passes];
  const within = Math.hypot(own * (a.standard_error ?? 0), other * (b.standard_error ?? 0));
  const between = Math.abs(a.latency_ms - b.latency_ms) * Math.sqrt(own * other);
  return {
    ...a,
    ...(b.busy_cores === undefined ? {} : { busy_cores: b.busy_cores }),
    latency_ms: own * a.latency_ms + other * b.latency_ms,
    standard_error: Math.max(within, between),
    passes,
    sessions: (a.sessions ?? 1) + (b.sessions ?? 1),
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
