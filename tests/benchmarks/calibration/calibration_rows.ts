/** The calibration of P(front), a row a layout. */
import { calibration, judgements, type Layout } from "../../core/front_layouts.ts";

/** A band of fewer trials says nothing. */
export const LEAST_COUNTED = 100;

export interface CalibrationRow {
  readonly layout: string;
  readonly studies: number;
  readonly bands: readonly { below: number; n: number; said: number; true: number }[];
  /** Of the trials measured to be on the front. */
  readonly measured: { readonly n: number; readonly said: number; readonly true: number };
}

export function calibrationRow(layout: Layout, studies: number): CalibrationRow {
  const all = [...judgements(layout, studies)];
  const front = all.filter(({ measured }) => measured);
  const share = (of: (one: (typeof front)[number]) => number) =>
    front.reduce((sum, one) => sum + of(one), 0) / front.length;
  return {
    layout: layout.name,
    studies,
    bands: calibration(all),
    measured: { n: front.length, said: share((one) => one.said), true: share((one) => +one.on) },
  };
}

/** The largest distance of said and true over the bands that count. */
export function worst({ bands }: CalibrationRow): number {
  return Math.max(
    ...bands.filter(({ n }) => n >= LEAST_COUNTED).map((one) => Math.abs(one.said - one.true)),
  );
}

export function calibrationTable(rows: readonly CalibrationRow[]): string {
  const uppers = rows[0]!.bands.map(({ below }) => below);
  const names = uppers.map((below, i) =>
    i === 0 ? `< ${below}` : `${uppers[i - 1]} – ${Math.min(1, below)}`
  );
  const pair = (one: { n: number; said: number; true: number }) =>
    one.n < LEAST_COUNTED ? "–" : `${one.said.toFixed(2)}: ${one.true.toFixed(2)}`;
  return [
    `| layout | studies | the measured front | ${names.join(" | ")} |`,
    `|---|---|---|${names.map(() => "---|").join("")}`,
    ...rows.map(({ layout, studies, measured, bands }) =>
      `| ${[layout, studies, pair(measured), ...bands.map(pair)].join(" | ")} |`
    ),
  ].join("\n");
}
