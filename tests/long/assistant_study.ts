/** A scripted assistant, knowing nothing but what the tools say, runs one whole study by itself. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { emptyHome } from "../fixtures/notebook_run.ts";
import { pareWords } from "../fixtures/programs.ts";
import { until } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

type Json = Record<string, unknown>;

Deno.test("an assistant proposes, puts a study in line, waits for it and reads what came of it", async () => {
  const home = await emptyHome(temporaryFolder("assistant"));
  const [command, ...args] = pareWords(
    ...["mcp", "--allow-submit", "--store", join(home, "store")],
  );
  const env = { ...Deno.env.toObject(), PARE_HOME: home, HF_HUB_OFFLINE: "1" };
  const transport = new StdioClientTransport({ command: command!, args, env, stderr: "ignore" });
  const client = new Client({ name: "scripted", version: "1" });
  await client.connect(transport);
  const call = async (name: string, asked: Json = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: asked }, {
      timeout: 300_000,
    });
    const { text } = (content as { text: string }[])[0]!;
    assert.ok(isError !== true, `${name}: ${text}`);
    return JSON.parse(text) as Json;
  };
  try {
    const document = { model_name: "tiny", dataset: "tiny", runtime: "transformers" };
    const proposed = await call("propose", { document });
    const [first] = proposed["first_recipes"] as { actions: Json[] }[];
    assert.ok(first!.actions.length > 0 && Number(proposed["recipes"]) > 1);

    const rounded = { agent: "quantization", method: "rtn", params: { bits: 8 } };
    const asked = { ...document, max_trials: 1, strategies: [{ actions: [rounded] }] };
    const { study_id } = await call("submit", { document: asked, title: "by an assistant" });
    await until("it is over", async () => {
      const { job } = await call("status", { study: study_id });
      return (job as Json)["section"] === "ended";
    }, 300_000);
    const { job } = await call("status", { study: study_id });
    assert.equal((job as Json)["state"], "done", JSON.stringify(job));

    const study = await call("show", { name: study_id });
    assert.equal(study["state"], "ended");
    const trial = await call("show", { name: `${study_id}/t01` });
    assert.match(String(trial["methods"]), /rtn/);
    const two = { first: `${study_id}/t00`, second: `${study_id}/t01` };
    assert.ok(Object.keys(await call("compare", two)).length > 0);
    const { text } = await call("report", { study: study_id });
    assert.match(String(text), /rtn/);
    const sql = "SELECT tool, count(*)::INTEGER AS times FROM assistant_calls GROUP BY ALL";
    const { rows } = await call("query", { sql });
    const times = new Map((rows as Json[]).map((row) => [row["tool"], row["times"]]));
    assert.equal(times.get("submit"), 1);
    assert.ok(Number(times.get("status")) >= 2);
  } finally {
    await client.close();
  }
});
