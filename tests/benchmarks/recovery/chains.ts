/**
 * Whether a chain of a cut, its recovery and rounding reaches what no quantizer alone does: beside each
 * chain the quantizer of the least KL among those that are not larger, and among those not slower.
 */
import { meanDifference, meanKl, type RecoveryRow } from "./recovery_rows.ts";

/** A model that a quantizer alone has made; both benchmarks ask the same windows. */
export interface Alone {
  readonly name: string;
  readonly size_bytes: number;
  /** Times the baseline's in OpenVINO; null: it was not timed. */
  readonly latency_ratio: number | null;
  /** From the original on each window, nats per token. */
  readonly kl: readonly number[];
}

interface Chain extends Alone {
  readonly latency_ratio: number | null;
}

const nameOf = ({ cut, recovery, rounding }: RecoveryRow) =>
  [...(cut === "nothing" ? [] : [cut]), ...(recovery === "none" ? [] : [recovery]), rounding]
    .join(" → ");

function measuredOf(row: RecoveryRow): Chain[] {
  const { size_bytes, latency_ratio, kl_windows } = row;
  if (row.rounding === null || size_bytes === null || kl_windows === null) return [];
  return [{ name: nameOf(row), size_bytes, latency_ratio, kl: kl_windows }];
}

/** The study's own rounding of the whole model, with its latency. */
export const roundedAlone = (rows: readonly RecoveryRow[]): Alone[] =>
  rows.filter(({ cut }) => cut === "nothing").flatMap(measuredOf);

const mean = ({ kl }: Alone) => meanKl(kl).mean;
const short = (value: number) => String(Number(value.toPrecision(3)));

/** The best rival, and how far the chain's KL is from its own; "ahead" where 95 % are on one side. */
function beside(chain: Chain, rivals: readonly Alone[], missing: string): string[] {
  const best = rivals.toSorted((a, b) => mean(a) - mean(b))[0];
  if (best === undefined) return [missing, ""];
  const { mean: apart, half } = meanDifference(chain.kl, best.kl);
  const verdict = apart - half > 0 ? "behind" : apart + half < 0 ? "ahead" : "undecided";
  return [`${best.name} (${short(mean(best))})`, `${short(apart)} ± ${short(half)}, ${verdict}`];
}

/** The table as Markdown. */
export function chainsTable(rows: readonly RecoveryRow[], quantized: readonly Alone[]): string {
  const rivals = [...roundedAlone(rows), ...quantized];
  const lines = rows.filter(({ cut }) => cut !== "nothing").flatMap(measuredOf).map((chain) => {
    const { latency_ratio: own } = chain;
    const smaller = rivals.filter(({ size_bytes }) => size_bytes <= chain.size_bytes);
    const faster = rivals.filter(({ latency_ratio: other }) =>
      own !== null && other !== null && other <= own
    );
    return [
      ...[chain.name, (chain.size_bytes / 1e6).toFixed(0), own?.toFixed(2) ?? "–"],
      short(mean(chain)),
      ...beside(chain, smaller, "none is as small"),
      ...own === null ? ["not timed", ""] : beside(chain, faster, "none is as fast"),
    ];
  });
  const head = [
    ...["chain", "MB", "latency ×", "KL"],
    ...["best quantizer no larger (KL)", "chain less it", "no slower (KL)", "chain less it"],
  ];
  const text = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [text(head), text(head.map(() => "---")), ...lines.map(text)].join("\n");
}
