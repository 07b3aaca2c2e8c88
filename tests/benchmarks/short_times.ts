import { execa } from "execa";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createBackendClient } from "../../python-backends/client.ts";
import { type BenchRow, median, repeatsText } from "./bench_table.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

async function milliseconds(words: readonly string[]): Promise<number> {
  const started = performance.now();
  await execa(Deno.execPath(), words, { cwd: ROOT, stdin: "ignore", env: { NO_COLOR: "1" } });
  return performance.now() - started;
}

/** `pare --help` with a warm cache, beside a deno that runs an empty file. */
export async function helpRow(repeats = 11): Promise<BenchRow> {
  const folder = await Deno.makeTempDir();
  try {
    const empty = join(folder, "empty.ts");
    await Deno.writeTextFile(empty, "");
    const help = ["run", "--allow-all", "tracker/cli.ts", "--help"];
    const nothing = ["run", "--allow-all", empty];
    await milliseconds(help); // fills the cache
    await milliseconds(nothing);
    const own: number[] = [];
    const floor: number[] = [];
    const load = Deno.loadavg()[0]!;
    for (let turn = 0; turn < repeats; turn++) {
      own.push(await milliseconds(help));
      floor.push(await milliseconds(nothing));
    }
    return {
      what: "pare --help",
      figure: median(own),
      unit: "ms",
      peer: median(floor),
      peer_name: "deno on an empty file",
      goal: { under: 300 },
      how: `deno run tracker/cli.ts --help, cache warm, in turn with the peer; ` +
        repeatsText(own, "ms", load),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Milliseconds from a request to `started`, one worker after the other. */
async function firstEvents(repeats: number, warm: boolean): Promise<number[]> {
  const client = createBackendClient({ nursery: warm });
  const times: number[] = [];
  try {
    for (let turn = 0; turn < repeats; turn++) {
      // The request fails after `started`, at once: its directory is not there.
      const request = { call: "verify", artifact_dir: "/nonexistent", source_dir: "/" } as const;
      if (warm && await client.warm("default") === null) {
        throw new Error("Cannot measure the first event: no worker could be started in advance");
      }
      const sent = performance.now();
      let first: number | undefined;
      const outcome = await client.run(request, {
        environment: "default",
        onEvent: (event) => {
          if (event.event === "started") first ??= performance.now() - sent;
        },
      });
      if (first === undefined) {
        const why = outcome.ok ? "it said nothing" : outcome.failure.message;
        throw new Error(`Cannot measure the first event of a worker: ${why}`);
      }
      times.push(first);
    }
  } finally {
    await client.close();
  }
  return times;
}

/** The time from a request to the worker's first event: pre-imported beside fresh. */
export async function firstEventRow(): Promise<BenchRow> {
  const load = Deno.loadavg()[0]!;
  await firstEvents(1, false); // the interpreter's files are read from disk once
  const fresh = await firstEvents(3, false);
  const warm = await firstEvents(7, true);
  return {
    what: "request to first event, forked worker",
    figure: median(warm),
    unit: "ms",
    peer: median(fresh),
    peer_name: "fresh worker",
    goal: { under: 50 },
    how: `request sent to \`started\` received; forked ${repeatsText(warm, "ms", load)}; ` +
      `fresh ${repeatsText(fresh, "ms", load)}`,
  };
}
