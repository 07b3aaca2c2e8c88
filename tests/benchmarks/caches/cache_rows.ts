import { z } from "zod";

/** Over the prompts of a cell: half is of its 95 % interval by Student's t, null of one prompt. */
const Mean = z.object({ mean: z.number(), half: z.number().nullable(), count: z.int() });
export type Mean = z.infer<typeof Mean>;

const Cell = z.object({
  length: z.int(),
  method: z.string(),
  share: z.number(),
  measured: z.record(z.string(), Mean),
});
export type Cell = z.infer<typeof Cell>;

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
});
export type KeptCaches = z.infer<typeof KeptCaches>;

/** Kinds of prompts, by a figure that each of their cells has. */
const KINDS = { text: "text_kl", needle: "needle_rank", chain: "chain_nll" };

/** Of each length and kind of prompt the cells that have figures, as method and share. */
export function knownCells(
  { cells }: Pick<KeptCaches, "cells">,
): Record<string, [string, number][]> {
  const found: Record<string, [string, number][]> = {};
  for (const { length, method, share, measured } of cells) {
    for (const [kind, figure] of Object.entries(KINDS)) {
      if (figure in measured) (found[`${length} ${kind}`] ??= []).push([method, share]);
    }
  }
  return found;
}

const nameOf = ({ length, method, share }: Cell): string => `${length} ${method} ${share}`;

/** What was kept with the figures that were lacking; none that was kept is changed. */
export function withFound(kept: KeptCaches, found: KeptCaches): KeptCaches {
  const lacking = new Map(found.cells.map((cell) => [nameOf(cell), cell.measured]));
  const cells = kept.cells.map((cell) => ({
    ...cell,
    measured: { ...lacking.get(nameOf(cell)), ...cell.measured },
  }));
  const known = new Set(kept.cells.map(nameOf));
  const others = found.cells.filter((cell) => !known.has(nameOf(cell)));
  return { ...kept, cells: [...cells, ...others] };
}
