/** A store with many waiting points, and `pare mlflow sync` under a bound on its memory. */
import { fileURLToPath } from "node:url";
import { openStore } from "../../../../tracker/store/store.ts";

const CLI = import.meta.resolve("../../../../tracker/cli.ts");
const CONFIG = fileURLToPath(new URL("../../../../deno.json", import.meta.url));

/** Logs so many points of two metrics, in batches; gives the journal's size. */
export async function logPoints(root: string, points: number): Promise<number> {
  await using store = await openStore(root, { write: true });
  const paused = store.pauseSink();
  const run = store.openRun({ study_id: "long", trial_id: "long/t01" });
  const rows = points / 2;
  const batch = Math.min(rows, 250_000);
  for (let step = 0; step < rows; step += batch) {
    const length = Math.min(batch, rows - step);
    const loss = Float64Array.from({ length }, (_, i) => 1 / (1 + step + i));
    await run.logBatch({ loss, lr: loss.map((value) => value / 2) }, { step, happened_at: 1e12 });
  }
  paused[Symbol.dispose]();
  return (await store.status()).journal_bytes;
}

/** Which points of a metric came, by step: sent twice they are one, as on a real server. */
export function seenPoints(rows: number) {
  const seen = new Map(["loss", "lr"].map((key) => [key, new Uint8Array(rows)]));
  return {
    take(metrics: readonly { key: string; step: number; value: number }[]): void {
      for (const { key, step, value } of metrics) {
        const expected = 1 / (1 + step) / (key === "lr" ? 2 : 1);
        if (value !== expected) throw new Error(`${key} at ${step} is ${value}, not ${expected}`);
        seen.get(key)![step]! += 1;
      }
    },
    /** Points that came, and how many of them more than once. */
    count(): { there: number; again: number } {
      let [there, again] = [0, 0];
      for (const steps of seen.values()) {
        for (const times of steps) {
          if (times > 0) there += 1;
          if (times > 1) again += 1;
        }
      }
      return { there, again };
    },
  };
}

export interface Synced {
  readonly code: number;
  readonly said: string;
  /** Peak resident memory of the process, MB; NaN where it did not come to its end. */
  readonly peak_mb: number;
}

/** `pare mlflow sync` in a process with a bound on its heap. */
export async function syncBounded(
  directory: string,
  { root, uri, heap_mb, signal }: {
    root: string;
    uri: string;
    heap_mb: number;
    signal?: AbortSignal;
  },
): Promise<Synced> {
  const path = `${directory}/sync-${crypto.randomUUID()}.ts`;
  await Deno.writeTextFile(
    path,
    `import { main } from ${JSON.stringify(CLI)};
    const code = await main(${
      JSON.stringify(["mlflow", "sync", "--store", root, "--mlflow", uri])
    });
    const [, kb] = /VmHWM:\\s+(\\d+)/.exec(Deno.readTextFileSync("/proc/self/status"));
    console.log("peak " + Math.round(kb / 1024));
    Deno.exit(code);`,
  );
  const args = ["run", "--no-check", "-A", "--config", CONFIG];
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args, `--v8-flags=--max-old-space-size=${heap_mb}`, path],
    stdout: "piped",
    stderr: "piped",
    ...(signal === undefined ? {} : { signal }),
  });
  const { code, stdout, stderr } = await child.output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return { code, said, peak_mb: Number(/^peak (\d+)/m.exec(said)?.[1] ?? NaN) };
}
