import { bytesText } from "../../../core/mod.ts";

/** A value with its standard error and the samples or repeats behind it. */
export interface Figure {
  value: number;
  standard_error: number | null;
  n: number;
}

/** A number with as many digits as its size deserves; `–` where there is none. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const shown = Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(digits);
  return shown.includes("e") ? String(Number(shown)) : shown;
}

/** `0.612 ± 0.021`: the value and its standard error. */
export function withError(figure: Figure | null, decimals = 3): string {
  if (figure === null) return "–";
  const value = figure.value.toFixed(decimals);
  return figure.standard_error === null
    ? value
    : `${value} ± ${figure.standard_error.toFixed(decimals)}`;
}

/** Bytes in the unit that their size deserves; `–` where there are none. */
export function bytes(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : bytesText(value);
}

/** Parameters in millions, in thousands below a tenth of one: `134.5 M`. */
export function parameterCount(value: number | null): string {
  if (value === null) return "–";
  return value < 1e5 ? `${(value / 1e3).toFixed(1)} k` : `${(value / 1e6).toFixed(1)} M`;
}

/** Seconds as people say them: `42 s`, `7 min 05 s`, `2 h 10 min`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${seconds < 10 ? seconds.toFixed(1) : whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${
    String(Math.floor(whole % 3600 / 60)).padStart(2, "0")
  } min`;
}

/** A share in percent. */
export function percent(share: number | null | undefined, decimals = 0): string {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(decimals)} %`;
}

/** `one trial`, `3 trials`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? `one ${one}` : `${count.toLocaleString("en-US")} ${many}`;
}
