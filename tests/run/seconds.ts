/** Seconds that each file's tests took, as measured on two cores: a run is planned by them. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const TABLE = fileURLToPath(new URL("seconds.json", import.meta.url));
/** Of a file that was not measured yet. */
export function unknownSeconds(path: string): number {
  return /^tests\/(long|campaigns)\//.test(path) ? 120 : 5;
}

export type Seconds = Record<string, number>;

export async function readSeconds(): Promise<Seconds> {
  return JSON.parse(await readFile(TABLE, "utf8"));
}

/** Keeps what was measured beside what the table knows; files that are gone go. */
export async function writeSeconds(measured: Seconds, files: readonly string[]): Promise<void> {
  const known = { ...await readSeconds(), ...measured };
  const rows = Object.entries(known).filter(([path]) => files.includes(path))
    .sort(([a], [b]) => a < b ? -1 : 1);
  await writeFile(TABLE, `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`);
}

const UNITS: Record<string, number> = { µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

function readDuration(text: string): number {
  return [...text.matchAll(/([\d.]+)(µs|ms|s|m|h)/g)]
    .reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!, 0);
}

/** Seconds by file, of what `deno test` prints. */
export function denoSeconds(output: string): Seconds {
  const found: Seconds = {};
  let file = "";
  let of_step = false;
  for (const line of output.split("\n")) {
    file = /^running \d+ tests? from \.\/(\S+)/.exec(line)?.[1] ?? file;
    // Steps are indented: their test's own line counts them. Where something was printed meanwhile,
    // the end stands alone, and belongs to what began last.
    of_step = / \.\.\.(?:$|')/.test(line) ? line.startsWith("  ") : of_step;
    const [, name, took] = /^(?! {2})(.*)\b(?:ok|FAILED) \(([\d.µmsh]+)\)\s*$/.exec(line) ?? [];
    if (took === undefined || file === "" || (of_step && name === " ")) continue;
    found[file] = (found[file] ?? 0) + readDuration(took);
  }
  return rounded(found);
}

/** Seconds by file, of what `pytest --durations=0` prints. */
export function pytestSeconds(output: string): Seconds {
  const found: Seconds = {};
  for (const line of output.split("\n")) {
    const [, took, path] = /^([\d.]+)s (?:call|setup|teardown)\s+(\S+?\.py)::/.exec(line) ?? [];
    if (took === undefined || path === undefined) continue;
    const file = path.slice(path.indexOf("tests/"));
    found[file] = (found[file] ?? 0) + Number(took);
  }
  return rounded(found);
}

function rounded(seconds: Seconds): Seconds {
  return Object.fromEntries(
    Object.entries(seconds).map(([file, value]) => [file, Math.round(10 * value) / 10]),
  );
}
