/** What the benchmark of two libraries keeps, and its table. */
import { z } from "zod";
import { median, timesRatio } from "../deployed/deployed_rows.ts";
import { meanKl } from "../recovery/recovery_rows.ts";

const InLibrary = z.strictObject({
  /** Milliseconds per generated token, pass by pass. */
  ms: z.array(z.number()),
  /** From the original in float32, window by window, nats per token. */
  kl: z.array(z.number()),
});

export const KeptForks = z.strictObject({
  cores: z.number(),
  /** Bytes per second of the machine's memory, as the passes began. */
  bandwidth: z.number(),
  load: z.number(),
  files: z.record(
    z.string(),
    z.strictObject({
      bytes: z.number(),
      "llama.cpp": InLibrary,
      "ik_llama.cpp": InLibrary,
    }),
  ),
});
export type KeptForks = z.infer<typeof KeptForks>;

const text = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

/** Each file in both libraries, the smallest first; a token reads all of a file, whose embedding is its head. */
export function forksTable({ files, bandwidth }: KeptForks): string {
  const original = files["original"];
  if (original === undefined) throw new Error("Nothing was measured of the original");
  const rows = Object.entries(files).toSorted(([, a], [, b]) => a.bytes - b.bytes).map(
    ([name, one]) => {
      const [usual, fork] = [one["llama.cpp"], one["ik_llama.cpp"]];
      const { ratio, low, high } = timesRatio(fork.ms, usual.ms);
      const roofline = 1000 * one.bytes / bandwidth;
      return [
        ...[name, (one.bytes / 1e6).toFixed(0)],
        ...[median(usual.ms).toFixed(2), median(fork.ms).toFixed(2)],
        `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
        timesRatio(fork.ms, original["llama.cpp"].ms).ratio.toFixed(2),
        ...[(median(usual.ms) / roofline).toFixed(2), (median(fork.ms) / roofline).toFixed(2)],
        ...[meanKl(usual.kl).mean.toFixed(4), meanKl(fork.kl).mean.toFixed(4)],
      ];
    },
  );
  const head = [
    ...["file", "MB", "llama.cpp ms", "ik ms", "ik × llama.cpp (95 %)", "ik × original"],
    ...["llama.cpp × roofline", "ik × roofline", "llama.cpp KL", "ik KL"],
  ];
  return [text(head), text(head.map(() => "---")), ...rows.map(text)].join("\n");
}
