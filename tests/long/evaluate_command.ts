import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { kindOf, type RunRequest } from "../../core/mod.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { evaluationFromOptions } from "../../tracker/commands/study/evaluate.ts";

const KEY = "sk-evaluate-test-9876543210";
const DATASET = { dataset: "tiny" };
const endpointOf = (request: RunRequest) => kindOf(request).asks(request).endpoint;

Deno.test("pare evaluate takes a model that lies here or one behind a server", () => {
  const named = evaluationFromOptions({ ...DATASET, endpoint: "http://h:8000", chat: true }, {});
  assert.equal(named.model_name, "h:8000");
  assert.deepEqual(endpointOf(named), {
    base_url: "http://h:8000/v1",
    model: null,
    tokenizer_dir: null,
    api: "chat",
    concurrency: 4,
    timeout_seconds: 300,
    patience_seconds: 600,
  });
  const variables = { OPENAI_API_BASE: "https://h/v1/chat/completions/", LLM_MODEL: "m" };
  const fromVariables = evaluationFromOptions(DATASET, variables);
  assert.equal(endpointOf(fromVariables)?.base_url, "https://h/v1");
  assert.equal(fromVariables.model_name, "m");
  const local = evaluationFromOptions({ ...DATASET, model: "tiny" }, variables);
  assert.equal(endpointOf(local), undefined, "a named model is not the server's");
});

Deno.test("what pare evaluate cannot do is one sentence", () => {
  const refused = (options: Record<string, unknown>, message: RegExp) =>
    assert.throws(() => evaluationFromOptions({ ...DATASET, ...options }, {}), message);
  refused({}, /without a model: give --model NAME\|PATH, or --endpoint URL/);
  refused({ model: "tiny", endpoint: "http://h" }, /--model and --endpoint at once/);
  refused({ model: "tiny", servedModel: "m" }, /--served-model without --endpoint URL/);
  refused({ model: "tiny", judgeModel: ["m"] }, /--judge-model without --judge-endpoint URL/);
  refused({ endpoint: "http://h", chat: true, chatTemplate: true }, /--chat-template with --chat/);
  refused({ endpoint: "http://h", tokenizer: "/nowhere" }, /--tokenizer must name a folder/);
  refused({ endpoint: "http://u:secret@h/v1" }, /it must hold no user or password/);
  refused({ endpoint: "h:8000" }, /it must be a URL such as http:\/\/host:8000\/v1/);
  refused({ endpoint: "http://h", concurrency: "0" }, /--concurrency as a whole number/);
});

/** Every byte that a run left behind. */
async function everything(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile());
  const texts = files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1"));
  return (await Promise.all(texts)).join("\n");
}

Deno.test("an evaluation is a study of one trial; a server's refusal marks it", async (t) => {
  const folder = await Deno.makeTempDir();
  const store = join(folder, "store");
  const run = { ask: silentAsk() };
  try {
    await t.step("of a model that lies here", async () => {
      await using lab = await openLab({ store });
      const session = await lab.open(
        evaluationFromOptions({ ...DATASET, model: "tiny", fullSamples: "20" }, {}),
        "here",
      );
      const result = await session.run(run);
      assert.equal(result.stop, "evaluated");
      assert.deepEqual(result.trials.map(({ strategy, state }) => [strategy, state]), [
        [null, "completed"],
      ]);
      const rows = await lab.sql`
        SELECT count(*)::INTEGER AS n, count(DISTINCT sample_hash)::INTEGER AS hashes
        FROM samples WHERE trial_id = 'here/t00'`;
      assert.deepEqual([rows[0]?.n, rows[0]?.hashes], [20, 20]);
      const again = await (await lab.resume("here")).run(run);
      assert.equal(again.trials.length, 1, "a finished evaluation is not run again");
      assert.equal((await lab.view("here")).recommended, null);
    });

    await t.step("of a server that refuses the key, and says it back", async () => {
      Deno.env.set("OPENAI_API_KEY", KEY);
      const asked: (string | null)[] = [];
      await using server = Deno.serve({ port: 0, onListen: () => {} }, (request) => {
        asked.push(request.headers.get("authorization"));
        return Response.json({ error: { message: `Incorrect API key: ${KEY}` } }, { status: 401 });
      });
      const endpoint = `http://127.0.0.1:${server.addr.port}`;
      const said: string[] = [];
      await using lab = await openLab({ store, onSetup: (line) => said.push(line) });
      const session = await lab.open(
        evaluationFromOptions({ ...DATASET, endpoint, servedModel: "m" }, {}),
        "there",
      );
      const result = await session.run(run);
      const [trial] = result.trials;
      assert.ok(asked.includes(`Bearer ${KEY}`), "the key was sent");
      assert.equal(result.stop, "failed");
      assert.equal(trial?.failure?.kind, "bad_input");
      assert.match(trial?.failure?.message ?? "", /refuses the key of OPENAI_API_KEY \(401: Incor/);
      const rows = await lab.sql`
        SELECT failure_kind FROM trials WHERE study_id = 'there'`;
      assert.equal(rows[0]?.failure_kind, "bad_input");
      assert.ok(!said.join().includes(KEY));
    });
    assert.ok(!(await everything(folder)).includes(KEY), "the key is kept nowhere");

    await t.step("of a server that only chats: multiple choice is refused", async () => {
      await using server = Deno.serve(
        { port: 0, onListen: () => {} },
        (request) =>
          new URL(request.url).pathname.endsWith("/chat/completions")
            ? Response.json({ choices: [{ message: { content: "x" }, finish_reason: "stop" }] })
            : Response.json({ error: "Not Found" }, { status: 404 }),
      );
      const endpoint = `http://127.0.0.1:${server.addr.port}/v1`;
      await using lab = await openLab({ store });
      const request = evaluationFromOptions({ ...DATASET, endpoint, servedModel: "m" }, {});
      const result = await (await lab.open(request, "chat")).run(run);
      assert.equal(result.trials[0]?.failure?.kind, "invalid");
      assert.match(result.message, /it has no \/completions, and a chat gives none/);
    });
  } finally {
    Deno.env.delete("OPENAI_API_KEY");
    await Deno.remove(folder, { recursive: true });
  }
});
