import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROJECT_ROOT } from "../../ground/home.ts";

const PROGRAM = fileURLToPath(new URL("../attempt/run_attempt.ts", import.meta.url));

/** The program and words that run an attempt's folder, on any machine that has pare where this one has. */
export function wrapperWords(folder: string, deno: string = Deno.execPath()): string[] {
  const config = join(PROJECT_ROOT, "deno.json");
  return [deno, "run", "--quiet", "--no-check", "-A", "--config", config, PROGRAM, folder];
}
