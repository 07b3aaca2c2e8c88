import { UsageError } from "../../../core/mod.ts";

/** Characters of a metric's name: what MLflow's server takes. */
const LONGEST_NAME = 250;
const MOST_METRICS = 10_000;
/** Milliseconds from 1970 to the first and last moment of a `Date`. */
const LAST_MOMENT = 8.64e15;

// deno-lint-ignore no-control-regex -- control characters are what must not be in a name
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

function shown(name: string): string {
  return JSON.stringify(name.length > 60 ? name.slice(0, 60) + "…" : name);
}

/** Refuses a name that a column, a plot or another tracker could not hold as it is. */
export function checkName(name: string, what = "metric"): void {
  const reason = name === ""
    ? "it is empty"
    : name.length > LONGEST_NAME
    ? `it has ${name.length} characters, of at most ${LONGEST_NAME}`
    : CONTROL.test(name)
    ? "it holds a control character"
    : !name.isWellFormed()
    ? "it holds half a character (a lone surrogate)"
    : null;
  if (reason !== null) {
    throw new UsageError(
      `Cannot log the ${what} ${shown(name)} as ${reason}; give a plain, shorter name`,
    );
  }
}

/** Refuses what is no number; NaN, infinities and -0 are numbers. */
export function checkValues(metrics: Readonly<Record<string, number>>): void {
  let count = 0;
  for (const name in metrics) {
    const value: unknown = metrics[name];
    if (typeof value !== "number") throw notANumber(name, value);
    count++;
  }
  checkCount(count);
}

/** The error where a metric's value is a text, a truth value, a tensor… */
export function notANumber(name: string, value: unknown): UsageError {
  const kind = value === null ? "null" : typeof value;
  return new UsageError(
    `Cannot log the metric ${shown(name)} as its value must be a number: it is ${kind}`,
  );
}

/** Refuses a call without metrics, or with more than a table has use for. */
export function checkCount(count: number): void {
  if (count > 0 && count <= MOST_METRICS) return;
  const reason = count === 0
    ? "there are none; name at least one"
    : `there are ${count} in one call, of at most ${MOST_METRICS}; log them in several calls`;
  throw new UsageError(`Cannot log the metrics as ${reason}`);
}

/** Refuses a step that a Float64 cannot hold exactly. */
export function checkStep(step: number): void {
  if (Number.isSafeInteger(step)) return;
  throw new UsageError(
    `Cannot log points at step ${step} as a step must be a whole number within ±(2^53 - 1)`,
  );
}

/** Refuses what is no moment in milliseconds since 1970. */
export function checkMoment(happened_at: number): void {
  if (Number.isInteger(happened_at) && Math.abs(happened_at) <= LAST_MOMENT) return;
  throw new UsageError(
    `Cannot log points as happened_at must be a Date or whole milliseconds since 1970: it is ${happened_at}`,
  );
}
