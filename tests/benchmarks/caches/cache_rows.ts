import { z } from "zod";

const Cell = z.object({
  length: z.int(),
  method: z.string(),
  share: z.number(),
  tokens: z.number(),
  bytes: z.number(),
  text_kl: z.number(),
  needle_kl: z.number(),
  needle_nll: z.number(),
  found: z.number(),
});

const Timed = z.object({
  length: z.int(),
  cells: z.int(),
  full: z.number(),
  sweep: z.number(),
  alone: z.number(),
  press: z.number().optional(),
  load: z.number(),
});

/** What `measure_caches.py` prints, as it is kept. */
export const KeptCaches = z.object({
  cells: z.array(Cell),
  times: z.array(Timed),
  load: z.array(z.number()),
  seconds: z.number(),
  threads: z.int(),
  prompts: z.int(),
  texts: z.int(),
});
export type KeptCaches = z.infer<typeof KeptCaches>;

const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const ruled = (head: readonly string[], rows: readonly string[]) =>
  [row(head), row(head.map((_, at) => at < 1 ? "---" : "---:")), ...rows].join("\n");

/** A method a row and length, a share of the context a column: KL on text, then what an answer costs. */
export function cellsTable({ cells }: Pick<KeptCaches, "cells">): string {
  const shares = [...new Set(cells.map(({ share }) => share))].filter((one) => one < 1)
    .sort((a, b) => a - b);
  const head = [
    ...["method", "tokens"],
    ...shares.map((share) => `KL, text, 1/${Math.round(1 / share)}`),
    ...shares.map((share) => `nats, needle, 1/${Math.round(1 / share)}`),
  ];
  const groups = Map.groupBy(cells, ({ method, length }) => `${length}\n${method}`);
  const rows = [...groups.values()].map((own) => {
    const at = (share: number) => own.find((cell) => cell.share === share);
    const { method, length } = own[0]!;
    if (method === "full") {
      const said = own[0]!.needle_nll.toFixed(2);
      return row([method, `${length}`, ...shares.map(() => "0"), ...shares.map(() => said)]);
    }
    return row([
      ...[method, `${length}`],
      ...shares.map((share) => at(share)?.text_kl.toFixed(3) ?? "–"),
      ...shares.map((share) => at(share)?.needle_nll.toFixed(2) ?? "–"),
    ]);
  });
  return ruled(head, rows);
}

/**
 * Seconds of one prompt, and how many times as long other ways of reading it take: with the full cache, by each
 * cell alone, and by presses of kvpress at the same shares, whose mean stands for every cell.
 */
export function timesTable({ times }: Pick<KeptCaches, "times">): string {
  const said = (seconds: number | undefined) => seconds?.toFixed(2) ?? "–";
  return ruled(
    [
      ...[
        "tokens",
        "cells",
        "full cache, s",
        "all cells, read once, s",
        "each alone, s",
        "a press, s",
      ],
      ...["read once : full", "one by one : read once", "kvpress : read once", "load"],
    ],
    times.map(({ length, cells, full, sweep, alone, press, load }) =>
      row([
        ...[`${length}`, `${cells}`, said(full), said(sweep), said(alone), said(press)],
        ...[(sweep / full).toFixed(1), (alone / sweep).toFixed(1)],
        press === undefined ? "–" : (cells * press / sweep).toFixed(1),
        load.toFixed(1),
      ])
    ),
  );
}
