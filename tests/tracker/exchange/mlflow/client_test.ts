import assert from "node:assert/strict";
import { join } from "node:path";
import { createMlflowClient, quoted } from "../../../../tracker/exchange/mlflow/client/client.ts";
import { connectionOf } from "../../../../tracker/exchange/mlflow/client/connection.ts";
import { MlflowError, PATIENCE } from "../../../../tracker/exchange/mlflow/client/http.ts";
import { startMlflowServer } from "../../../../tracker/exchange/mlflow/server.ts";

const HASTY = {
  ...PATIENCE,
  timeout_ms: 3_000,
  retries: 3,
  backoff_ms: 20,
  longest_pause_ms: 2_000,
};

async function failure(promise: Promise<unknown>): Promise<MlflowError> {
  const error = await promise.then(() => null, (error: unknown) => error);
  assert.ok(error instanceof MlflowError, String(error));
  return error;
}

/** A server that answers what a test says, and what it was asked. */
function answering(answers: (count: number, request: Request) => Response | Promise<Response>) {
  const asked: Request[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    asked.push(request);
    return answers(asked.length, request);
  });
  return { uri: `http://127.0.0.1:${server.addr.port}`, asked, stop: () => server.shutdown() };
}

Deno.test("a real server keeps runs, points, NaN, datasets, artifacts and models", async (t) => {
  const directory = await Deno.makeTempDir();
  const server = await startMlflowServer({ directory, port: 0 });
  try {
    const client = createMlflowClient(connectionOf(server.uri, {}));
    const experiment_id = await client.createExperiment('it\'s "one"');
    const run = await client.createRun({
      experiment_id,
      run_name: "first",
      start_time: 1_700_000_000_000,
      tags: [{ key: "pare.trial_id", value: "it's/t00" }],
    });
    const { run_id, artifact_uri } = run.info;

    await t.step("an experiment and a run are found again", async () => {
      assert.equal((await client.findExperiment('it\'s "one"'))?.experiment_id, experiment_id);
      assert.equal(await client.findExperiment("another"), null);
      const filter = `tags.\`pare.trial_id\` = ${quoted("it's/t00")}`;
      const found = await Array.fromAsync(client.runs([experiment_id], filter));
      assert.deepEqual(found.map(({ info }) => info.run_id), [run_id]);
      const twice = await failure(client.createExperiment('it\'s "one"'));
      assert.equal(twice.code, "RESOURCE_ALREADY_EXISTS");
      assert.equal(twice.temporary, false);
    });

    await t.step(
      "2,300 points arrive once though they are sent twice, NaN among them",
      async () => {
        const metrics = Array.from({ length: 2_300 }, (_, step) => ({
          key: "loss",
          value: [NaN, Infinity, -Infinity][step] ?? 1 / step,
          timestamp: 1_700_000_000_000 + step,
          step,
        }));
        const params = Array.from({ length: 130 }, (_, i) => ({ key: `p${i}`, value: String(i) }));
        for (let times = 0; times < 2; times++) await client.log(run_id, { metrics, params });
        const points = await Array.fromAsync(client.metricHistory(run_id, "loss"));
        assert.equal(points.length, 2_300);
        const values = new Map(points.map(({ step, value }) => [step, value]));
        assert.ok(Number.isNaN(values.get(0)));
        // The server's SQL store has no infinities: it keeps the largest double.
        assert.deepEqual([values.get(1), values.get(2)], [Number.MAX_VALUE, -Number.MAX_VALUE]);
        assert.equal(values.get(2_299), 1 / 2_299);
        const kept = await client.getRun(run_id);
        assert.equal(kept.data.params.length, 130);
        const changed = await failure(client.log(run_id, { params: [{ key: "p1", value: "x" }] }));
        assert.match(changed.message, /\(400\): INVALID_PARAMETER_VALUE: Changing param values/);
      },
    );

    await t.step("a dataset stands once", async () => {
      const dataset = {
        name: "d",
        digest: "1",
        source_type: "local",
        source: "{}",
        context: "evaluation",
      };
      await client.logDatasets(run_id, [dataset]);
      await client.logDatasets(run_id, [dataset]);
      const { inputs } = await client.getRun(run_id);
      assert.deepEqual(inputs.dataset_inputs.map((one) => one.dataset.name), ["d"]);
    });

    await t.step("files go through the proxy; links and hostile names do not", async () => {
      await client.putText(artifact_uri, "reports/50% of ä.json", '{"a": 1}');
      await client.putText(artifact_uri, "reports/50% of ä.json", '{"a": 2}');
      const files = await Array.fromAsync(client.files(run_id, "reports"));
      assert.deepEqual(files.map(({ path }) => path), ["reports/50% of ä.json"]);
      assert.deepEqual(await client.getJson(artifact_uri, "reports/50% of ä.json"), { a: 2 });
      const link = join(directory, "link");
      await Deno.symlink("/etc/hostname", link);
      await assert.rejects(client.putFile(artifact_uri, "x", link), /links are not followed/);
      await assert.rejects(client.putText(artifact_uri, "%2e%2e/x", ""), /would leave the run/);
      await assert.rejects(client.putText("s3://bucket/x", "x", ""), /--serve-artifacts/);
    });

    await t.step("a model is logged, registered and called recommended", async () => {
      const tags = [{ key: "pare.trial_id", value: "it's/t00" }];
      const { info } = await client.createLoggedModel({
        ...{ experiment_id, name: "checkpoint", model_type: "pare", source_run_id: run_id },
        ...{ params: [], tags },
      });
      await client.putText(info.artifact_uri, "MLmodel", "run_id: x\n");
      await client.readyLoggedModel(info.model_id);
      await client.logOutputModel(run_id, info.model_id);
      const filter = `source_run_id = ${quoted(run_id)}`;
      const models = await client.findLoggedModels(experiment_id, filter);
      assert.deepEqual(models.map((one) => [one.info.model_id, one.info.status]), [
        [info.model_id, "LOGGED_MODEL_READY"],
      ]);
      await client.ensureRegisteredModel("tiny", "");
      await client.ensureRegisteredModel("tiny", "");
      const version = await client.createModelVersion({
        ...{ name: "tiny", source: `models:/${info.model_id}`, run_id, model_id: info.model_id },
        ...{ description: "", tags },
      });
      await client.setAlias("tiny", "recommended", version.version);
      const named = await client.versionByAlias("tiny", "recommended");
      assert.deepEqual([named.version, named.run_id, named.tags], ["1", run_id, tags]);
      assert.equal((await client.modelVersions("tiny")).length, 1);
    });

    await t.step("the server's own check of a name is the client's", async () => {
      await assert.rejects(
        client.log(run_id, { metrics: [{ key: "../x", value: 1, timestamp: 0, step: 0 }] }),
        /another name/,
      );
      const away = await failure(client.getRun("no-such-run"));
      assert.equal(away.code, "RESOURCE_DOES_NOT_EXIST");
    });
  } finally {
    await server.stop();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("what may be retried is, with Retry-After; what may not is not", async () => {
  const ok = () =>
    Response.json({ run: { info: { run_id: "r", experiment_id: "1", status: "RUNNING" } } });
  const busy = answering((count) =>
    count === 1
      ? new Response("", { status: 429, headers: { "retry-after": "1" } })
      : count === 2
      ? new Response("", { status: 503 })
      : ok()
  );
  const client = createMlflowClient(connectionOf(busy.uri, {}), HASTY);
  const started = performance.now();
  assert.equal((await client.getRun("r")).info.run_id, "r");
  assert.ok(performance.now() - started >= 1_000, "Retry-After was not waited for");
  assert.equal(busy.asked.length, 3);
  await busy.stop();

  for (const status of [400, 401, 403, 404]) {
    const server = answering(() => Response.json({ error_code: "X", message: "no" }, { status }));
    const refused = await failure(
      createMlflowClient(connectionOf(server.uri, {}), HASTY).getRun("r"),
    );
    assert.deepEqual([refused.status, refused.temporary, server.asked.length], [status, false, 1]);
    await server.stop();
  }

  // What makes a run may have made it although it answered 500: only the caller can tell.
  const broken = answering(() => new Response("", { status: 500 }));
  const breaking = createMlflowClient(connectionOf(broken.uri, {}), HASTY);
  const run = { experiment_id: "1", run_name: "x", start_time: 0, tags: [] };
  assert.equal((await failure(breaking.createRun(run))).temporary, true);
  assert.equal(broken.asked.length, 1);
  assert.equal((await failure(breaking.updateRun("r", {}))).status, 500);
  assert.equal(broken.asked.length, 5);
  await broken.stop();
  assert.equal((await failure(breaking.getRun("r"))).temporary, true);
});

Deno.test("a server that hangs, speaks no JSON, another shape or elsewhere is said in a sentence", async () => {
  const answers: [() => Response | Promise<Response>, RegExp][] = [
    [
      () => new Promise((resolve) => setTimeout(() => resolve(new Response("")), 400)),
      /did not answer in time/,
    ],
    [() => new Response("<html>hello</html>"), /its answer is no JSON/],
    [() => Response.json({ run: 7 }), /Cannot read the answer to GET .*: run/],
    [
      () => new Response(null, { status: 302, headers: { location: "https://other/" } }),
      /use the address https:\/\/other\//,
    ],
  ];
  for (const [answer, said] of answers) {
    const server = answering(answer);
    const client = createMlflowClient(connectionOf(server.uri, {}), {
      ...HASTY,
      timeout_ms: 100,
      retries: 0,
    });
    const error = await failure(client.getRun("r"));
    assert.match(error.message, said);
    // What is no answer of MLflow's says nothing of the request: it is never taken for a refusal.
    assert.equal(error.temporary, error.status === null);
    assert.notEqual(error.status, 200);
    await server.stop();
  }
});

Deno.test("an answer without an end is left: in time, and of no more bytes than any has", async () => {
  const body = (piece: Uint8Array<ArrayBuffer>, pause: number) =>
    new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, pause));
        controller.enqueue(piece);
      },
    });
  const answers: [Uint8Array<ArrayBuffer>, number, RegExp][] = [
    [new Uint8Array([32]), 20, /its answer was not whole after 1000 ms/],
    [new Uint8Array(1 << 20).fill(32), 0, /its answer is longer than 67108864 bytes/],
  ];
  for (const [piece, pause, said] of answers) {
    const server = answering(() => new Response(body(piece, pause)));
    const patience = { ...HASTY, timeout_ms: 100, retries: 0 };
    const client = createMlflowClient(connectionOf(server.uri, {}), patience);
    const error = await failure(client.getRun("r"));
    assert.match(error.message, said);
    assert.equal(error.temporary, true);
    await server.stop();
  }
});

Deno.test("no failure shows a secret, whatever the server repeats", async () => {
  const echo = answering((_, request) =>
    Response.json({
      error_code: "PERMISSION_DENIED",
      message: `you sent ${request.headers.get("authorization")} and hunter22`,
    }, { status: 403 })
  );
  const uri = echo.uri.replace("://", "://ann:hunter22@");
  const client = createMlflowClient(connectionOf(uri, {}), HASTY);
  const refused = await failure(client.getRun("r"));
  assert.equal(echo.asked[0]!.headers.get("authorization"), `Basic ${btoa("ann:hunter22")}`);
  assert.doesNotMatch(Deno.inspect(refused), /hunter22|YW5u/);
  assert.doesNotMatch(client.shown, /ann|hunter22/);
  await echo.stop();
  const away = await failure(client.getRun("r"));
  assert.doesNotMatch(Deno.inspect(away), /hunter22/);
});
