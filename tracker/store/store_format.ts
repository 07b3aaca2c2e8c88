import { join } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { RECORD_VERSION } from "./upgrade_record.ts";

/** Refuses a directory that a newer pare made; marks a new one. */
export function checkFormat(root: string, write: boolean): void {
  const path = join(root, "store.json");
  let format: unknown = null;
  try {
    format = (JSON.parse(Deno.readTextFileSync(path)) as { format?: unknown }).format;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && write) {
      Deno.writeTextFileSync(path, JSON.stringify({ format: RECORD_VERSION }) + "\n");
    }
    return;
  }
  if (typeof format === "number" && format > RECORD_VERSION) {
    throw new UsageError(
      `Cannot open the store ${root} as a newer pare wrote it (format ${format}, this one knows ${RECORD_VERSION}); update pare`,
    );
  }
}
