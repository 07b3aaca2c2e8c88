import { mkdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { UsageError } from "../../../core/mod.ts";
import {
  ensureEnvironment,
  type OnEnvironmentProgress,
} from "../../../python-backends/environments/environments.ts";
import { logTail } from "../../../python-backends/child/log_tail.ts";
import { startChild } from "../../../python-backends/child/start_child.ts";
import { PYTHON_ROOT } from "../../../python-backends/home.ts";
import { findHome } from "../../ground/home.ts";

/** A running MLflow server of this machine. */
export interface MlflowServer {
  readonly uri: string;
  readonly pid: number;
  readonly log_path: string;
  /** Settles when the process has ended, whoever ended it. */
  readonly exited: Promise<unknown>;
  /** SIGTERM, then SIGKILL, to the server and all it started. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** Holds `mlflow.db`, `artifacts/` and `server.log`. */
  readonly directory: string;
  /** 0: one that is free. */
  readonly port: number;
  readonly onProgress?: OnEnvironmentProgress;
  readonly signal?: AbortSignal;
}

/** A server compiles its imports on the first start after an installation: up to a minute. */
const START_MS = 120_000;

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function serverWords(directory: string, port: number): string[] {
  return [
    ...["-m", "pare_backends.supervised", "mlflow", "server"], // it would outlive this process
    ...["--host", "127.0.0.1", "--port", String(port)],
    ...["--backend-store-uri", `sqlite:///${join(directory, "mlflow.db")}`],
    ...["--artifacts-destination", join(directory, "artifacts"), "--serve-artifacts"],
    ...["--workers", "1"],
  ];
}

async function answers(uri: string): Promise<boolean> {
  try {
    const response = await fetch(`${uri}/health`, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false; // not listening yet
  }
}

/**
 * Starts a local MLflow server in its pinned environment: SQLite behind it, artifacts through its
 * proxy, reachable from this machine only. Made on first use: a minute and 0.5 GB.
 *
 * @throws UsageError where it does not answer in time; the last lines of its log say why.
 */
export async function startMlflowServer(
  { directory, port, onProgress, signal }: ServerOptions,
): Promise<MlflowServer> {
  const { python } = await ensureEnvironment("mlflow", {
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });
  mkdirSync(directory, { recursive: true });
  const log_path = join(directory, "server.log");
  const chosen = port === 0 ? freePort() : port;
  const uri = `http://127.0.0.1:${chosen}`;
  const child = startChild({
    argv: [python, ...serverWords(directory, chosen)],
    ...{ cwd: directory, log: log_path, append: true, output: "log" },
    env: {
      PYTHONPATH: PYTHON_ROOT,
      MLFLOW_DISABLE_TELEMETRY: "true",
      DO_NOT_TRACK: "true",
      MLFLOW_SERVER_ENABLE_JOB_EXECUTION: "false", // a second process that nothing here uses
      PYTHONNOUSERSITE: "1",
    },
  });
  const { pid, exited } = child;
  const server: MlflowServer = { uri, pid, log_path, exited, stop: () => child.end() };
  const started = performance.now();
  while (child.running && performance.now() - started < START_MS && signal?.aborted !== true) {
    if (await answers(uri)) return server;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const why = child.running ? "did not answer in time" : "ended";
  await server.stop();
  const said = logTail(log_path, 3);
  throw new UsageError(
    `Cannot start the MLflow server at ${uri}: it ${why}; ${log_path} ends with: ${said}`,
  );
}

/** `npx -y deno task mlflow`: a server in PARE_HOME until it is interrupted; PARE_MLFLOW_PORT, else 5000. */
async function main(): Promise<void> {
  const directory = join(findHome(Deno.env.toObject()).root, "mlflow");
  const port = Number(process.env.PARE_MLFLOW_PORT ?? 5000);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new UsageError(`Cannot use PARE_MLFLOW_PORT: it is no port: ${port}`);
  }
  const server = await startMlflowServer({
    directory,
    port,
    onProgress: ({ line }) => console.error(`environment mlflow: ${line}`),
  });
  console.log(`MLflow at ${server.uri}, data in ${directory}`);
  console.log(`Mirror to it: MLFLOW_TRACKING_URI=${server.uri} npx -y deno task pare run …`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => void server.stop());
  }
  await server.exited;
}

if (import.meta.main) {
  try {
    await main();
    Deno.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`pare: ${error.message}`);
    Deno.exit(2);
  }
}
