/**
 * Keys that are sent to servers which say them back stand in no file, log, page, error or command line.
 * Each has a text of its own, so that a finding names it.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Endpoint, Strategist } from "../../core/mod.ts";
import { openObjectStore } from "../../tracker/artifacts/remote/object_store.ts";
import { participantUrl } from "../../tracker/commands/participants/participant_options.ts";
import { connectionOf } from "../../tracker/exchange/mlflow/client/connection.ts";
import { createMlflowClient } from "../../tracker/exchange/mlflow/client/client.ts";
import { RayEngine } from "../../tracker/jobs/engines/ray/ray_engine.ts";
import { notify } from "../../tracker/jobs/queue/notify.ts";
import { checkStudy } from "../../tracker/lab/check_study.ts";
import { chatEndpoint } from "../../tracker/lab/search/chat_endpoint.ts";
import { fetchHubFile } from "../../tracker/lab/serving/hub_config.ts";
import { listedModels } from "../../tracker/serving/listed_models.ts";
import { askStream } from "../../tracker/serving/load/ask_stream.ts";
import { openParticipant } from "../../tracker/serving/participants/participant.ts";
import { toolParticipant } from "../../tracker/serving/participants/tool_participant.ts";
import { openStore, type Store } from "../../tracker/store/store.ts";
import { parrot, planted, secretsBelow, secretsIn } from "../fixtures/parrot.ts";
import { runPare } from "../fixtures/programs.ts";
import { message, scriptedAgent } from "../fixtures/scripted_agent.ts";
import { testBoard } from "../fixtures/stores/board.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { HASTY } from "../tracker/exchange/mlflow/mirror_world.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const TASK = fileURLToPath(new URL("../fixtures/generated_words.ts", import.meta.url));
const WAYS = ["answers", "refuses", "rejects", "redirects", "breaks", "garbles", "inside"];
const NAMES = [
  ...["OPENAI_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "JUDGE_API_KEY", "OWN_KEY"],
  ...["STRATEGIST_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
  ...["MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "RAY_AUTH_TOKEN", "IN_ADDRESS"],
];

const plantedSecrets = () =>
  Object.fromEntries(NAMES.map((name) => [name, planted(name.toLowerCase().replaceAll("_", ""))]));

/** What came of it: a value as JSON, or an error with its causes and its stack. */
async function outcome(work: () => unknown): Promise<string> {
  try {
    return JSON.stringify(await work()) ?? "";
  } catch (error) {
    return Deno.inspect(error, { depth: 9, strAbbreviateSize: 1e6 });
  }
}

/** While `work` runs, the environment has these variables and standard error is heard. */
async function heard(secrets: Readonly<Record<string, string>>, work: () => Promise<void>) {
  const [before, error, lines] = [Deno.env.toObject(), console.error, [] as string[]];
  for (const [name, value] of Object.entries(secrets)) Deno.env.set(name, value);
  console.error = (...words: unknown[]) => void lines.push(words.map(String).join(" "));
  try {
    await work();
  } finally {
    console.error = error;
    for (const name of Object.keys(secrets)) {
      if (before[name] === undefined) Deno.env.delete(name);
      else Deno.env.set(name, before[name]);
    }
  }
  return lines.join("\n");
}

/** Every client of the tracker, asked in one way. */
function clients(url: string, secrets: Readonly<Record<string, string>>) {
  const { OWN_KEY: key = "", STRATEGIST_API_KEY = "", MLFLOW_TRACKING_PASSWORD = "" } = secrets;
  const { signal } = new AbortController();
  const [base_url, timeout_ms] = [`${url}/v1`, 3000];
  const head = { name: "ray", url, token: secrets["RAY_AUTH_TOKEN"]!, token_from: "it" };
  const ray = new RayEngine("ray", { head, deno: "deno", machine: null });
  const patience = { ...HASTY, retries: 0 };
  const mlflow = (variables: Record<string, string>) =>
    createMlflowClient(
      connectionOf(url.replace("//", `//${encodeURIComponent("us er")}:pw@`), variables),
      patience,
    ).findExperiment("pare");
  const s3 = openObjectStore("s3://bucket/pare", {
    ...secrets,
    ...{ AWS_ACCESS_KEY_ID: "AKIA", AWS_ENDPOINT_URL: url },
  }, { waits_ms: [] });
  const load = { base_url, model: "m", completes: false, ignores_ends: false };
  return {
    strategist: () =>
      chatEndpoint(Strategist.parse({ base_url }), STRATEGIST_API_KEY).ask(
        [{ role: "user", content: "?" }],
        signal,
      ),
    "a named strategist": () =>
      chatEndpoint(Strategist.parse({ base_url, model: "m" }), STRATEGIST_API_KEY).ask(
        [{ role: "user", content: "?" }],
        signal,
      ),
    load: () => askStream(load, { prompt: "?", output_tokens: 2, answer_seconds: 3, signal }),
    models: () => listedModels(base_url),
    agent: async () => (await openParticipant({ url: new URL(url), key, timeout_ms })).ask("?"),
    tools: () => toolParticipant({ base_url, model: "m", key, timeout_ms }).ask("?"),
    ray: () => ray.capacity(),
    "mlflow by password": () => mlflow({ MLFLOW_TRACKING_PASSWORD }),
    "mlflow by token": () =>
      createMlflowClient(
        connectionOf(url, { MLFLOW_TRACKING_TOKEN: secrets["MLFLOW_TRACKING_TOKEN"]! }),
        patience,
      ).findExperiment("pare"),
    s3: () => s3.get("a", 100),
    hub: () =>
      fetchHubFile("a/b", "config.json", { HF_ENDPOINT: url, HF_TOKEN: secrets["HF_TOKEN"] }),
  };
}

Deno.test("no client of the tracker passes on a key that its server says back", async () => {
  const secrets = plantedSecrets();
  await using server = parrot(secrets);
  const found: string[] = [];
  const said = await heard(secrets, async () => {
    await Promise.all(
      WAYS.flatMap((way) =>
        Object.entries(clients(server.url(way), secrets)).map(async ([name, ask]) => {
          const text = await outcome(ask);
          found.push(...secretsIn(text, secrets).map((one) => `${name} ${way}: ${one} in ${text}`));
        })
      ),
    );
  });
  assert.deepEqual(found, []);
  assert.deepEqual(secretsIn(said, secrets), []);
  assert.deepEqual(server.on_argv, []);
  const sent = ["HF_TOKEN", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "RAY_AUTH_TOKEN"];
  for (const name of [...sent, "OPENAI_API_KEY", "OWN_KEY", "STRATEGIST_API_KEY"]) {
    assert.ok(server.came.has(name), `${name} was sent to nobody`);
  }
});

Deno.test("an agent that says its key back in words, in parts or as an error is heard without it", async () => {
  const secrets = plantedSecrets();
  const key = secrets["OWN_KEY"]!;
  const failing = { code: -32603, message: `no ${key}` };
  for (
    const answer of [
      () => message(`you are ${key}`),
      () => new Response(JSON.stringify({ jsonrpc: "2.0", id: 1, error: failing })),
      () => new Response(`no ${key}`, { status: 400, statusText: key }),
    ]
  ) {
    await using agent = scriptedAgent(answer, { key, card: { name: `agent ${key}` } });
    const text = await outcome(async () => {
      const opened = await openParticipant({ url: agent.url, key, timeout_ms: 3000 });
      return [opened.name, await opened.ask("?").catch((error) => String(error))];
    });
    assert.match(text, /agent \*\*\*/);
    assert.deepEqual(secretsIn(text, secrets), []);
  }
});

Deno.test("a study of before, whose address has a query, is read", () => {
  const base_url = "http://127.0.0.1:9/v1?api-version=1";
  assert.equal(Endpoint.parse({ base_url }).base_url, base_url);
});

Deno.test("an address with a key in it is refused without it", async () => {
  const secrets = plantedSecrets();
  const key = encodeURIComponent(secrets["IN_ADDRESS"]!);
  const study = (base_url: string) =>
    checkStudy({ model_name: "m", dataset: "d", evaluation: { endpoint: { base_url } } }, "study");
  const addresses = [
    ...[`http://user:${key}@127.0.0.1:9/v1`, `http://${key}@127.0.0.1:9/v1`],
    ...[`http://127.0.0.1:9/v1?key=${key}`, `http://127.0.0.1:9/v1#${key}`, `htp://u:${key}@h`],
  ];
  for (const address of addresses) {
    for (
      const refuse of [
        () => study(address),
        () => participantUrl(address.replace("#", "?")),
        () =>
          openObjectStore("s3://bucket/a", {
            ...{ AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", AWS_ENDPOINT_URL: address },
          }),
      ]
    ) {
      const text = await outcome(refuse);
      assert.match(text, /^UsageError: /, `${address} is taken`);
      assert.deepEqual(secretsIn(text, secrets), [], text);
    }
  }
  const hooks = [`http://127.0.0.1:9/${key}`, `http://a b/${key}`, `http://u:${key}@127.0.0.1:9/`];
  const job = {
    job_id: "j",
    title: "t",
    state: "ended" as const,
    reason: "",
    study_id: "s",
    store: "s",
  };
  const said = await heard({}, () => notify(hooks, job));
  assert.equal(said.split("\n").length, hooks.length);
  assert.deepEqual(secretsIn(said, secrets), [], said);
});

/** Pages and answers of a board that hold a secret. */
async function onBoard(kept: Store, store: string, secrets: Readonly<Record<string, string>>) {
  await using board = testBoard([store]);
  const studies = await kept.ask("SELECT study_id FROM studies");
  const found: string[] = [];
  for (const { study_id } of studies) {
    for (const path of [`/studies/${study_id}`, `/api/studies/${study_id}`]) {
      const answer = await board.ask(path);
      const page = await answer.text();
      assert.equal(answer.status, 200, page);
      found.push(...secretsIn(page, secrets).map((name) => `${path}: ${name}`));
    }
  }
  return found;
}

Deno.test("keys of an evaluation whose servers say them back stand in no file, page, table or command line", async () => {
  await shareDefaultEnvironment();
  const secrets = plantedSecrets();
  await using server = parrot(secrets);
  const home = temporaryFolder("secrets");
  const config = join(home, "words.yaml");
  await writeFile(
    config,
    `name: Words
datasets: [{ type: generated_words, section: analysis }]
sampling: { strategy: stratified, total_limit: 2, seed: 1 }
timeout_seconds: 20
`,
  );
  const { MLFLOW_TRACKING_TOKEN: _, ...variables } = secrets; // a password stands above it
  const run = await runPare([
    ...["evaluate", "--endpoint", `${server.url("answers")}/v1`, "--served-model", "m", "--chat"],
    ...["--config", config, "--plugin", TASK, "--yes"],
  ], {
    ...{ ...variables, PARE_HOME: home, AWS_ACCESS_KEY_ID: "AKIA", MLFLOW_TRACKING_USERNAME: "me" },
    MLFLOW_TRACKING_URI: server.url("refuses").replace("//", "//me:none@"),
  });
  assert.equal(run.exitCode, 0, run.all);
  assert.deepEqual(secretsIn(run.all!, secrets), [], run.all);
  const store = join(home, "store");
  await using kept = await openStore(store, { write: false });
  const tables = await kept.ask("SELECT table_name FROM duckdb_tables()");
  for (const { table_name } of tables) {
    const table = await kept.ask(`SELECT t::VARCHAR AS text FROM "${table_name}" t`);
    assert.deepEqual(secretsIn(JSON.stringify(table), secrets), [], `table ${table_name}`);
  }
  const [{ n } = { n: 0 }] = await kept.ask(
    "SELECT count(*)::INTEGER AS n FROM samples WHERE answer LIKE '%[key]%'",
  );
  assert.equal(n, 2, "the server said the key, and its answers are kept");
  assert.deepEqual(await onBoard(kept, store, secrets), []);
  assert.deepEqual(secretsBelow(home, secrets), []);
  assert.deepEqual(server.on_argv, []);
  for (const name of ["OPENAI_API_KEY", "MLFLOW_TRACKING_PASSWORD"]) {
    assert.ok(server.came.has(name), `${name} was sent to nobody`);
  }
});
