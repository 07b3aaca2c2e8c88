/** What the benchmark says of each cell: lines that are kept, a table that is read, a figure. */
import { z } from "zod";
import { meanKl } from "../recovery/recovery_rows.ts";

/** What measure_cell.py writes. */
export const Measured = z.object({
  encode_seconds: z.number(),
  encode_processor_seconds: z.number(),
  /** Load average of the machine before it was encoded. */
  load: z.number(),
  peak_memory_bytes: z.number(),
  /** Of the linear weights, by the bytes of their tensors in the files. */
  weight_bits: z.number(),
  size_bytes: z.number(),
  decode_mb_per_second: z.number(),
  decode_processor_seconds: z.number(),
  /** From the original on each window, nats per token. */
  kl: z.array(z.number()).min(1),
  perplexity: z.number(),
  original_perplexity: z.number(),
});

/** A cell as it is kept, one a line. */
export const KeptCell = Measured.extend({
  name: z.string(),
  method: z.string(),
  params: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
  cores: z.number(),
});
export type KeptCell = z.infer<typeof KeptCell>;

const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

/** Cells that no other one beats in both bits and KL. */
export function frontOf(
  cells: readonly Pick<KeptCell, "name" | "weight_bits" | "kl">[],
): ReadonlySet<string> {
  const points = cells.map(({ name, weight_bits, kl }) => ({ name, weight_bits, kl: mean(kl) }));
  return new Set(
    points.filter((one) =>
      !points.some((other) =>
        other.weight_bits <= one.weight_bits && other.kl <= one.kl &&
        (other.weight_bits < one.weight_bits || other.kl < one.kl)
      )
    ).map(({ name }) => name),
  );
}

/** The rows of the figure rateDistortion. */
export function figureRows(cells: readonly KeptCell[]): object[] {
  const front = frontOf(cells);
  // Colour and shape say the method: its name beside each point would hide its neighbours.
  const short = (name: string, method: string) => name.replace(`${method} `, "");
  return cells.map(({ name, method, weight_bits, size_bytes, kl }) => ({
    ...{ trial_id: short(name, method), methods: method, weight_bits, size_bytes },
    ...{ kl: mean(kl), on_front: front.has(name) },
  }));
}

const seconds = (value: number) => value < 10 ? value.toFixed(1) : value.toFixed(0);

/** The table as Markdown, the fewest bits first. */
export function stagesTable(cells: readonly KeptCell[]): string {
  const front = frontOf(cells);
  const head = [
    ...["setting", "bits", "KL (95 %)", "perplexity", "encode, s", "processor, s", "load"],
    ...["decode, MB/s", "MB"],
  ];
  const sorted = cells.toSorted((a, b) => a.weight_bits - b.weight_bits || mean(a.kl) - mean(b.kl));
  const lines = sorted.map((cell) => {
    const kl = meanKl(cell.kl);
    const short = (value: number) => String(Number(value.toPrecision(3)));
    return [
      front.has(cell.name) ? `**${cell.name}**` : cell.name,
      cell.weight_bits.toFixed(2),
      `${short(kl.mean)} (${short(kl.low)} to ${short(kl.high)})`,
      short(cell.perplexity),
      seconds(cell.encode_seconds),
      seconds(cell.encode_processor_seconds),
      cell.load.toFixed(0),
      cell.decode_mb_per_second.toFixed(0),
      (cell.size_bytes / 1e6).toFixed(1),
    ];
  });
  const text = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [text(head), text(head.map(() => "---")), ...lines.map(text)].join("\n");
}
