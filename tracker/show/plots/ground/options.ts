import { z } from "zod";
import { unknownName, UsageError } from "../../../../core/mod.ts";

/** The narrowest and the widest picture, in pixels. */
export const WIDTHS = [390, 1600] as const;

/** What every figure may be told. */
export const FigureOptions = z.strictObject({
  width: z.number().min(WIDTHS[0]).max(WIDTHS[1]).default(800).describe("pixels"),
  theme: z.enum(["auto", "light", "dark"]).default("auto").describe(
    "auto: as the reader's system has it",
  ),
  title: z.string().optional().describe("instead of the figure's own"),
  caption: z.string().optional().describe("a line below the figure"),
});
export type FigureOptions = z.input<typeof FigureOptions>;
export type Settled = z.output<typeof FigureOptions>;

/** Options checked, defaults filled in; what is wrong is said in a sentence. */
export function readOptions<S extends z.ZodRawShape>(
  figure: string,
  schema: z.ZodObject<S>,
  options: object | undefined,
): z.output<z.ZodObject<S>> {
  const names = Object.keys(schema.shape);
  for (const name of Object.keys(options ?? {})) {
    if (!names.includes(name)) {
      throw new UsageError(unknownName(`option of figures.${figure}`, name, names));
    }
  }
  const read = schema.safeParse(options ?? {});
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const at = issue!.path.join(".");
  const value = JSON.stringify((options as Record<string, unknown>)[String(issue!.path[0])]);
  throw new UsageError(`Cannot draw ${figure} with ${at} ${value}: ${issue!.message}`);
}
