import assert from "node:assert/strict";
import { execa } from "execa";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../python-backends/environments.ts";
import { evaluationFromOptions } from "../../tracker/commands/evaluate.ts";
import { type Lab, openLab, silentAsk } from "../../tracker/mod.ts";

const TASK = fileURLToPath(new URL("../fixtures/generated_words.ts", import.meta.url));
const KEEP_MODEL_FILES = { HF_HUB_OFFLINE: "1", TRANSFORMERS_VERBOSITY: "error" };

interface Served {
  base_url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

function freePort(): number {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr as Deno.NetAddr; // a TCP listener has no other address
  listener.close();
  return port;
}

/** Starts a server and waits until it answers, be it that it has no list of models. */
async function start(
  python: string,
  words: (port: number) => string[],
  env: Record<string, string> = {},
): Promise<Served> {
  const port = freePort();
  const server = execa(python, words(port), { env, reject: false, stdin: "ignore", all: true });
  let ended = false;
  void server.then(() => ended = true);
  const base_url = `http://127.0.0.1:${port}/v1`;
  for (let tries = 0; tries < 240; tries++) {
    if (ended) throw new Error(`The server ended: ${(await server).all}`);
    const answer = await fetch(`${base_url}/models`).catch(() => null);
    await answer?.body?.cancel();
    if (answer !== null) {
      return {
        base_url,
        async [Symbol.asyncDispose]() {
          server.kill("SIGTERM");
          await server;
        },
      };
    }
    await delay(500);
  }
  server.kill("SIGKILL");
  throw new Error("The server did not start");
}

/** Runs `pare evaluate` with these options and gives the trial's samples. */
async function evaluate(lab: Lab, name: string, options: Record<string, unknown>) {
  const request = evaluationFromOptions(options, {});
  const session = await lab.open(request, name);
  const result = await session.run({ ask: silentAsk() });
  assert.equal(result.stop, "evaluated", result.message);
  const rows = await lab.sql<{ task: string; sample_hash: string; score: number; answer: string }>`
    SELECT task, sample_hash, prompt_hash, score, answer, log_likelihood FROM samples
    WHERE trial_id = ${`${name}/t00`} ORDER BY task, sample_id`;
  return { session, rows: [...rows] };
}

const SAMPLES = "20";

Deno.test("transformers serve gives the demo model's own generations, every one", async () => {
  const { python } = await ensureEnvironment("serve");
  const store = await Deno.makeTempDir();
  try {
    await using lab = await openLab({ store });
    const common = { dataset: "generated_words", plugin: [TASK], fullSamples: SAMPLES };
    const own = await evaluate(lab, "own", { ...common, model: "demo" });
    const folder = own.session.facts.model.path;
    const transformers = join(dirname(python), "transformers");
    await using server = await start(python, (port) => [
      ...[transformers, "serve", folder, "--port", String(port), "--host", "127.0.0.1"],
      ...["--device", "cpu", "--dtype", "float32"],
    ], KEEP_MODEL_FILES);
    const endpoint = { endpoint: server.base_url, servedModel: folder, concurrency: "2" };
    const served = await evaluate(lab, "served", { ...common, ...endpoint });
    assert.equal(served.rows.length, Number(SAMPLES));
    assert.deepEqual(served.rows, own.rows);
  } finally {
    await Deno.remove(store, { recursive: true });
  }
});
