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

/** Whether other work disturbed a timing of the original: what ran fastest meanwhile says little of a quiet machine. */
export function isDisturbed({ runtimes = [] }: Pick<Facts, "runtimes">): boolean {
  return runtimes.some(({ busy_cores }) => busy_cores !== undefined);
}

/** Runtimes than which none is surely faster with the original; those of a busy machine are none. */
export function unbeaten(facts: Pick<Facts, "runtimes">): string[] {
  const timed = (facts.runtimes ?? []).filter(({ latency_ms }) => latency_ms !== null)
    .sort((a, b) => a.latency_ms! - b.latency_ms!);
  const [first] = timed;
  if (first === undefined || isDisturbed(facts)) return [];
  const errorOf = ({ standard_error }: RuntimeSpeed) => standard_error ?? 0;
  return timed.filter((one) =>
    one.latency_ms! - first.latency_ms! <= Z95 * Math.hypot(errorOf(one), errorOf(first))
  ).map(({ runtime }) => runtime);
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
