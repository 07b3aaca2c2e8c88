import { z } from "zod";

/** In place of a folder: the wrapper waits until its standard input tells one. */
export const WAITS = "--waits";

/** What a wrapper that waits is told, as one line. Its variables are written to no file. */
const Told = z.strictObject({ folder: z.string(), env: z.record(z.string(), z.string()) });
export type Told = z.infer<typeof Told>;

/** The line, once it is whole; null: who would have told it is gone. */
export async function readTold(): Promise<Told | null> {
  const decoder = new TextDecoder();
  const piece = new Uint8Array(1 << 16);
  let text = "";
  while (!text.endsWith("\n")) {
    const read = await Deno.stdin.read(piece);
    if (read === null) return null;
    text += decoder.decode(piece.subarray(0, read), { stream: true });
  }
  return Told.parse(JSON.parse(text));
}
