import assert from "node:assert/strict";
import { execa } from "execa";
import { join } from "node:path";
import { createMlflowClient } from "../../../../tracker/exchange/mlflow/client/client.ts";
import { connectionOf } from "../../../../tracker/exchange/mlflow/client/connection.ts";
import { MlflowError, PATIENCE } from "../../../../tracker/exchange/mlflow/client/http.ts";
import { startChild } from "../../../../python-backends/child/start_child.ts";
import { PYTHON_ROOT } from "../../../../python-backends/home.ts";
import { ensureEnvironment } from "../../../../python-backends/environments/environments.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";

const HASTY = { ...PATIENCE, timeout_ms: 10_000, retries: 0, backoff_ms: 10 };
const ARTIFACTS = "mlflow-artifacts:/1/r/artifacts";
const BYTES = 500_000_000;

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A certificate of this machine that signs itself; as an authority's it may sign others, too. */
async function makeCertificate(directory: string, authority: boolean): Promise<Certificate> {
  const [cert, key] = ["cert", "key"].map((name) => join(directory, `${name}-${authority}.pem`));
  await execa("openssl", [
    ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
    ...["-keyout", key!, "-out", cert!, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
    ...["-addext", `basicConstraints=critical,CA:${authority ? "TRUE" : "FALSE"}`],
  ]);
  return { cert: cert!, key: key! };
}

/** Answers every call like a server that has no experiments, and counts the bytes it is sent. */
function serve(options: { cert?: string; key?: string } = {}) {
  const seen: { bytes: number; authorization: string | null }[] = [];
  const server = Deno.serve({
    ...{ port: 0, hostname: "127.0.0.1", onListen: () => {} },
    ...(options.cert === undefined ? {} : {
      cert: Deno.readTextFileSync(options.cert),
      key: Deno.readTextFileSync(options.key!),
    }),
  }, async (request) => {
    let bytes = 0;
    for await (const part of request.body ?? []) bytes += part.length;
    seen.push({ bytes, authorization: request.headers.get("authorization") });
    return Response.json({ experiments: [] });
  });
  const scheme = options.cert === undefined ? "http" : "https";
  return { uri: `${scheme}://127.0.0.1:${server.addr.port}`, seen, stop: () => server.shutdown() };
}

function clientOf(uri: string, variables: Record<string, string>) {
  return createMlflowClient(connectionOf(uri, variables), HASTY);
}

async function refusal(uri: string, variables: Record<string, string>): Promise<string> {
  const error = await Array.fromAsync(clientOf(uri, variables).experiments())
    .then(() => null, (error: unknown) => error);
  assert.ok(error instanceof MlflowError, String(error));
  return error.message;
}

async function sparseFile(directory: string, bytes: number): Promise<string> {
  const path = join(directory, `${bytes}.safetensors`);
  await Deno.writeFile(path, new Uint8Array());
  await Deno.truncate(path, bytes);
  return path;
}

Deno.test("a server's certificate is checked with the one that is named, or not at all where asked", () =>
  inDirectory(async (directory) => {
    const own = await makeCertificate(directory, false);
    const server = serve(own);
    const named = { MLFLOW_TRACKING_SERVER_CERT_PATH: own.cert, MLFLOW_TRACKING_TOKEN: "t0ken" };
    assert.deepEqual(await Array.fromAsync(clientOf(server.uri, named).experiments()), []);
    assert.match(
      await refusal(server.uri, {}),
      /Cannot reach .*: nobody known has signed its certificate; name .*_SERVER_CERT_PATH$/,
    );
    const insecure = { MLFLOW_TRACKING_INSECURE_TLS: "true", MLFLOW_TRACKING_TOKEN: "t0ken" };
    assert.deepEqual(await Array.fromAsync(clientOf(server.uri, insecure).experiments()), []);
    const file = await sparseFile(directory, 5_000_000);
    await clientOf(server.uri, insecure).putFile(ARTIFACTS, "x", file);
    await clientOf(server.uri, named).putFile(ARTIFACTS, "x", file);
    await server.stop();
    assert.deepEqual(server.seen.map(({ bytes }) => bytes > 1e6 ? bytes : 0), [0, 0, 5e6, 5e6]);
    assert.ok(server.seen.every(({ authorization }) => authorization === "Bearer t0ken"));
    assert.match(await refusal(server.uri, insecure), /Cannot reach .*refused/i);

    const authority = await makeCertificate(directory, true);
    const signed = serve(authority);
    assert.match(
      await refusal(signed.uri, { MLFLOW_TRACKING_SERVER_CERT_PATH: authority.cert }),
      /its certificate is one of an authority \(CA:TRUE\).*CA:FALSE/,
    );
    await signed.stop();
  }));

Deno.test("a large file is sent as it is read, and a server that stops taking it is told from one that is slow", () =>
  inDirectory(async (directory) => {
    const file = await sparseFile(directory, BYTES);
    const server = serve();
    const before = Deno.memoryUsage().rss;
    let most = 0;
    const quiet = () => {
      most = Math.max(most, Deno.memoryUsage().rss - before);
      return Promise.resolve();
    };
    await clientOf(server.uri, {}).putFile(ARTIFACTS, "x", file, quiet);
    assert.deepEqual(server.seen.map(({ bytes }) => bytes), [BYTES]);
    await server.stop();
    assert.ok(most > 0 && most < BYTES / 2, `${(most / 1e6).toFixed(0)} MB were held`);

    const held = Promise.withResolvers<Response>();
    const hung = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      () => held.promise, // takes what fits into the connection, and no more
    );
    const uri = `http://127.0.0.1:${hung.addr.port}`;
    const client = createMlflowClient(connectionOf(uri, {}), { ...HASTY, timeout_ms: 300 });
    const started = performance.now();
    // A pause is no stall: nothing is sent while it lasts.
    let paused = 0;
    const pause = async () => {
      if (paused++ === 0) await new Promise((resolve) => setTimeout(resolve, 900));
    };
    const error = await client.putFile(ARTIFACTS, "x", file, pause).then(() => null, String);
    assert.match(error ?? "", /Cannot reach .*: it stopped taking the file/);
    assert.ok(performance.now() - started > 1_100, "the pause was taken for a stall");
    held.resolve(new Response());
    await hung.shutdown();
  }));

Deno.test("a real MLflow server behind TLS keeps runs and files above ten megabytes", () =>
  inDirectory(async (directory) => {
    const { cert, key } = await makeCertificate(directory, false);
    const { python } = await ensureEnvironment("mlflow");
    const probe = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const { port } = probe.addr;
    probe.close();
    const server = startChild({
      argv: [
        ...[python, "-m", "pare_backends.supervised", "mlflow", "server"],
        ...["--host", "127.0.0.1", "--port", String(port), "--workers", "1"],
        ...["--backend-store-uri", `sqlite:///${join(directory, "mlflow.db")}`],
        ...["--artifacts-destination", join(directory, "artifacts"), "--serve-artifacts"],
        ...["--uvicorn-opts", `--ssl-keyfile ${key} --ssl-certfile ${cert}`],
      ],
      ...{ cwd: directory, log: join(directory, "log"), output: "log" },
      env: {
        PYTHONPATH: PYTHON_ROOT,
        MLFLOW_DISABLE_TELEMETRY: "true",
        MLFLOW_SERVER_ENABLE_JOB_EXECUTION: "false",
      },
    });
    try {
      const file = await sparseFile(directory, 30_000_000);
      const uri = `https://127.0.0.1:${port}`;
      for (
        const [name, variables] of Object.entries({
          checked: { MLFLOW_TRACKING_SERVER_CERT_PATH: cert },
          insecure: { MLFLOW_TRACKING_INSECURE_TLS: "true" },
        })
      ) {
        const client = createMlflowClient(connectionOf(uri, variables), {
          ...{ timeout_ms: 60_000, retries: 120, backoff_ms: 500, longest_pause_ms: 500 },
        });
        await Array.fromAsync(client.experiments()); // waits until it listens
        const experiment_id = await client.createExperiment(name);
        const asked = { experiment_id, run_name: name, start_time: 1, tags: [] };
        const { info } = await client.createRun(asked);
        await client.putFile(info.artifact_uri, "checkpoint/model.safetensors", file);
        const files = await Array.fromAsync(client.files(info.run_id, "checkpoint"));
        assert.deepEqual(files.map(({ path, file_size }) => [path, Number(file_size)]), [
          ["checkpoint/model.safetensors", 30_000_000],
        ]);
      }
    } finally {
      server.kill();
      await server.exited;
    }
  }));
