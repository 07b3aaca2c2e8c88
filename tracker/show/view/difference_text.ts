import { scaleOf } from "../../../core/mod.ts";
import { number } from "./number_text.ts";

/** A difference of a metric, on the metric's scale, with its 95 % interval. */
export interface Difference {
  readonly metric: string;
  readonly value: number | null;
  readonly interval: readonly [number, number] | null;
}

/** `+0.013`; of a metric whose differences are relative `+2.13 %`. */
export function signedText(metric: string, value: number | null): string {
  if (value === null) return "–";
  const { relative } = scaleOf(metric);
  const shown = number(relative ? 100 * value : value) + (relative ? " %" : "");
  return value > 0 ? `+${shown}` : shown;
}

/** `+0.013 [-0.010, +0.036]`: how every table writes a difference, whoever asks. */
export function differenceText({ metric, value, interval }: Difference): string {
  const ends = interval === null || value === null
    ? ""
    : ` [${interval.map((end) => signedText(metric, end)).join(", ")}]`;
  return signedText(metric, value) + ends;
}
