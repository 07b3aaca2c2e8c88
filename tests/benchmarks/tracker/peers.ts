import { execa } from "execa";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** How much is asked of everybody. */
export interface Sizes {
  readonly points: number;
  /** Calls of two metrics. */
  readonly calls: number;
  /** Points that are logged and waited for one by one. */
  readonly singles: number;
  readonly runs: number;
  /** Rows of the store that is opened after a kill. */
  readonly rows: number;
  readonly repeats: number;
}

const Trackio = z.strictObject({
  version: z.string(),
  calls: z.int(),
  asked_s: z.number().describe("until the calls have returned"),
  written_s: z.number().describe("until they are in its SQLite file"),
});

const Optuna = z.strictObject({
  version: z.string(),
  calls: z.int(),
  seconds: z.number(),
  one_ms: z.number(),
});

const Mlflow = z.strictObject({
  version: z.string(),
  points: z.int(),
  points_s: z.number(),
  bytes: z.int().describe("growth of its SQLite file by the points"),
  one_ms: z.number(),
  series_ms: z.number(),
  series_points: z.int(),
  runs: z.int(),
  one_run_ms: z.number(),
  copied_s: z.number(),
  search_ms: z.number(),
  search_found: z.int(),
});

/** What the peers measured of themselves. */
export interface Peers {
  readonly trackio: z.infer<typeof Trackio>;
  readonly optuna: z.infer<typeof Optuna>;
  readonly mlflow: z.infer<typeof Mlflow>;
}

/** Runs one peer's script in the peers' environment and reads what it measured. */
async function runPeer<T>(python: string, name: string, sizes: Sizes, answer: z.ZodType<T>) {
  const folder = await Deno.makeTempDir({ prefix: `bench-${name}-` });
  try {
    const [asked, told] = [join(folder, "request.json"), join(folder, "result.json")];
    await writeFile(asked, JSON.stringify({ ...sizes, folder }));
    const run = await execa(python, [join(HERE, `peer_${name}.py`), asked, told], {
      cwd: folder,
      env: {
        DO_NOT_TRACK: "1",
        HF_HUB_OFFLINE: "1",
        MLFLOW_DISABLE_TELEMETRY: "true",
        MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT: "true",
        PYTHONDONTWRITEBYTECODE: "1",
        PYTHONNOUSERSITE: "1",
      },
      reject: false,
      all: true,
      stdin: "ignore",
    });
    if (run.failed) {
      const words = run.all.trimEnd().split("\n").slice(-12).join("\n");
      throw new Error(`Cannot measure ${name}:\n${words}`);
    }
    return answer.parse(JSON.parse(await readFile(told, "utf8")));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Measures the three peers, one after the other; their environment is made on first use. */
export async function measurePeers(sizes: Sizes, say: (text: string) => void): Promise<Peers> {
  const { python } = await ensureEnvironment("tracker_peers", {
    pins_directory: join(HERE, "peers_env"),
    onProgress: ({ line }) => say(line),
  });
  say("trackio");
  const trackio = await runPeer(python, "trackio", sizes, Trackio);
  say("Optuna's journal storage");
  const optuna = await runPeer(python, "optuna", sizes, Optuna);
  say(`MLflow: ${sizes.points} points in batches of 1,000, ${sizes.runs} runs`);
  const mlflow = await runPeer(python, "mlflow", sizes, Mlflow);
  return { trackio, optuna, mlflow };
}
