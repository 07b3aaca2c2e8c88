/** What an assistant's program may ask: by a real client, over a process's streams and over HTTP. */
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { pageOf, smallJson } from "../../../tracker/assistant/answer.ts";
import { serveAssistantHttp } from "../../../tracker/assistant/serve_http.ts";
import { BoardQueue } from "../../../tracker/board/board_queue.ts";
import { boardStores } from "../../../tracker/board/board_stores.ts";
import { callsPath } from "../../../tracker/store/assistant/call_file.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { pareWords } from "../../fixtures/programs.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

async function recorded(root: string): Promise<string> {
  const at = join(root, "store");
  await using store = await openStore(at, { write: true });
  await Promise.all(studyRecords(STUDY).map((record) => store.record(record)));
  await store.flush({ wait_ms: 60_000 });
  return at;
}

function caller(client: Client) {
  return async (name: string, asked: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: asked });
    const [first] = content as { type: string; text: string }[];
    return { text: first!.text, isError: isError === true };
  };
}

async function answersOf(client: Client, store: string): Promise<void> {
  const call = caller(client);
  const { tools } = await client.listTools();
  const words = tools.map(({ name }) => name).sort().join(" ");
  assert.equal(
    words,
    "compare plan propose query report show status studies submit trials views",
  );
  for (const { name, description, inputSchema, annotations } of tools) {
    assert.ok(description!.length > 40, name);
    assert.equal(inputSchema["additionalProperties"], false, name);
    assert.equal(annotations!.readOnlyHint, name !== "submit", name);
  }

  const listed = JSON.parse((await call("studies")).text);
  assert.deepEqual([listed.pages, listed.studies.length], [1, 1]);
  assert.equal(listed.studies[0].study_id, STUDY);
  const study = JSON.parse((await call("show", { name: STUDY })).text);
  assert.equal(study.study_id, STUDY);
  assert.ok(study.front.length > 0);
  const trial = JSON.parse((await call("show", { name: `${STUDY}/t01` })).text);
  assert.equal(trial.trial_id, `${STUDY}/t01`);
  const table = JSON.parse((await call("trials", { study: STUDY, order: "number" })).text);
  assert.equal(table.rows[0].trial_id, `${STUDY}/t00`);
  const page = JSON.parse((await call("report", { study: STUDY })).text);
  assert.match(page.text, new RegExp(`^# .*${STUDY}|${STUDY}`));
  assert.ok(page.pages >= 1 && page.page === 1);

  const asked = { sql: "SELECT count(*) AS n FROM trials WHERE study_id = $study" };
  const counted = await call("query", { ...asked, params: { study: STUDY } });
  assert.ok(Number(JSON.parse(counted.text).rows[0].n) >= 2, counted.text);
  const views = JSON.parse((await call("views")).text);
  assert.ok(views.some(({ name }: { name: string }) => name === "leaderboard"));
  const view = JSON.parse((await call("views", { name: "leaderboard" })).text);
  assert.ok(view.columns.every(({ comment }: { comment: string | null }) => comment !== null));

  await nothingElseIsRead(call, store);
  await refusalsAreShort(client);
  const { resources } = await client.listResources();
  const report = resources.find(({ uri }) => uri === `pare://studies/${STUDY}/report`);
  const { contents } = await client.readResource({ uri: report!.uri });
  assert.match(String((contents[0] as { text: string }).text), new RegExp(STUDY));
  const figure = await client.readResource({ uri: `pare://studies/${STUDY}/figures/pareto` });
  assert.match(String((figure.contents[0] as { text: string }).text), /<svg/);
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.length >= 3);
  const { messages } = await client.getPrompt({
    name: "which_to_deploy",
    arguments: { study: STUDY },
  });
  assert.match((messages[0]!.content as { text: string }).text, new RegExp(STUDY));
}

/** Refusals: a sentence each, and no file of this machine in any. */
async function nothingElseIsRead(call: ReturnType<typeof caller>, store: string): Promise<void> {
  const secret = join(store, "..", "secret.csv");
  await Deno.writeTextFile(secret, "word\nplanted-secret\n");
  const refused = async (tool: string, asked: Record<string, unknown>, sentence: RegExp) => {
    const { text, isError } = await call(tool, asked);
    assert.ok(isError, `${tool} answered ${text}`);
    assert.match(text, sentence);
    assert.doesNotMatch(text, /planted-secret|\n\s+at /);
  };
  await refused("query", { sql: `SELECT * FROM read_csv('${secret}')` }, /Cannot|may not|disabled/);
  await refused("query", { sql: `COPY trials TO '${secret}'` }, /Cannot/);
  await refused("query", { sql: "DELETE FROM trials" }, /Cannot/);
  await refused("show", { name: "no-such" }, /Unknown study "no-such"|Did you mean/);
  const unfinished = { first: `${STUDY}/t00`, second: `${STUDY}/t01` };
  await refused("compare", unfinished, /Cannot compare demo-1\/t00: it has no full evaluation/);
  await refused("views", { name: "leaderbord" }, /Did you mean "leaderboard"/);
  await refused("plan", { model: secret, gpus: "H100" }, /it is a path/);
  await refused("propose", { document: { model_name: "tiny", dataset: secret } }, /it is a path/);
  await refused("propose", {}, /either a study or a document/);
  const document = { model_name: "tiny", dataset: "tiny" };
  await refused("submit", { document }, /--allow-submit/);
  await refused("trials", { study: STUDY, ordr: "rank" }, /ordr/);
}

/** What refuses repeats no long name: a conversation holds little. */
async function refusalsAreShort(client: Client): Promise<void> {
  const long = "k".repeat(300_000);
  const refusals = await Promise.all([
    caller(client)("studies", { [long]: 1 }).then(({ text }) => text),
    ...[
      () => client.callTool({ name: long, arguments: {} }),
      () => client.readResource({ uri: `pare://${long}` }),
      () => client.readResource({ uri: `pare://studies/${long}/report` }),
      () => client.getPrompt({ name: long, arguments: {} }),
      () => client.getPrompt({ name: "which_to_deploy", arguments: { study: long } }),
    ].map((ask) =>
      ask().then(JSON.stringify, ({ message, data }) => JSON.stringify({ message, data }))
    ),
  ]);
  for (const said of refusals) assert.ok(said.length < 2_500, said.slice(0, 200));
}

/** Every call is a row, what was refused with its sentence. */
async function callsAreRows(root: string): Promise<void> {
  appendFileSync(callsPath(root), '{"called_at": "torn'); // a process that died while it wrote
  await using store = await openStore(root, { write: false });
  const rows = await store.ask(
    `SELECT tool, client, outcome, reason, arguments, answer_chars > 0 AS some
    FROM assistant_calls ORDER BY called_at`,
  );
  const of = (tool: string) => rows.filter((row) => row["tool"] === tool);
  assert.deepEqual(of("compare").map(({ outcome }) => outcome), ["refused"]);
  assert.ok(rows.every(({ client, some }) => client === "a test 1" && some === true));
  const [submit] = of("submit");
  assert.equal(submit!["outcome"], "refused");
  assert.match(String(submit!["reason"]), /--allow-submit/);
  assert.match(String(submit!["arguments"]), /"dataset":"tiny"/);
  assert.equal(rows.filter(({ outcome }) => outcome === "failed").length, 0);
}

Deno.test("an assistant asks a store by a process's streams: small answers, sentences, a row a call", async () => {
  await inDirectory(async (root) => {
    const store = await recorded(root);
    const [command, ...args] = pareWords("mcp", "--store", store);
    const transport = new StdioClientTransport({
      ...{ command: command!, args, stderr: "ignore" },
      env: { ...Deno.env.toObject(), PARE_HOME: root },
    });
    const client = new Client({ name: "a test", version: "1" });
    await client.connect(transport);
    const { pid } = transport;
    await answersOf(client, store);
    await client.close();
    for (let n = 0; n < 100 && alive(pid!); n++) await new Promise((go) => setTimeout(go, 50));
    assert.ok(!alive(pid!), "it ends with its client");
    await callsAreRows(store);
  });
});

function alive(pid: number): boolean {
  try {
    return !Deno.readTextFileSync(`/proc/${pid}/stat`).includes(") Z ");
  } catch {
    return false;
  }
}

Deno.test("over HTTP only who has the token is answered, on this machine alone", async () => {
  await inDirectory(async (root) => {
    const store = await recorded(root);
    await using stores = boardStores([store]);
    const nobody = () => Promise.resolve([]);
    const queue = new BoardQueue([store], { engines: nobody, programOf: () => [] });
    const running = serveAssistantHttp(
      { stores, queue, allow_submit: false, drives: () => null },
      {},
    );
    try {
      const ask = (headers: Record<string, string>) =>
        fetch(running.url, { method: "POST", headers });
      assert.equal((await (await ask({})).json()).error.includes("token"), true);
      const foreign = { origin: "http://evil.example", authorization: `Bearer ${running.token}` };
      const refused = await ask(foreign);
      assert.equal(refused.status, 403);
      await refused.body?.cancel();
      const client = new Client({ name: "a test", version: "1" });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(running.url), {
          requestInit: { headers: { authorization: `Bearer ${running.token}` } },
        }),
      );
      const { text } = await caller(client)("studies");
      assert.equal(JSON.parse(text).studies[0].study_id, STUDY);
      await refusalsAreShort(client);
      await client.close();
    } finally {
      await running.close();
      await queue.close();
    }
  });
});

Deno.test("an answer is small: lists and texts are cut, and what is lacking is said", () => {
  const value = { rows: Array.from({ length: 900 }, (_, n) => ({ n, text: "x".repeat(500) })) };
  const text = smallJson(value, 10_000);
  assert.ok(text.length <= 10_000);
  const { rows } = JSON.parse(text);
  assert.equal(rows[0].n, 0);
  assert.match(String(rows.at(-1)), /^… \d+ more of 900$/);
  assert.equal(smallJson({ a: 1 }), '{"a":1}');
  const long = Array.from({ length: 100 }, (_, n) => `line ${n}\n`).join("");
  const all = Array.from({ length: pageOf(long, 1, 90).pages }, (_, n) => pageOf(long, n + 1, 90));
  assert.equal(all.map(({ text }) => text).join(""), long);
  assert.ok(all.every(({ text }) => text.length <= 90 && text.endsWith("\n")));
});
