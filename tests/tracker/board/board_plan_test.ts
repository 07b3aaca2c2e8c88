import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ServingPlan } from "../../../core/serving/plan/schema.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { configOf } from "../../core/serving/plan/published.ts";
import { testBoard } from "../../fixtures/stores/board.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("the board plans a served model, as a page and as JSON, and says what it refuses", () =>
  inDirectory(async (root) => {
    const [at, model] = [join(root, "store"), join(root, "<model>")];
    await (await openStore(at, { write: true }))[Symbol.asyncDispose]();
    await mkdir(model);
    await writeFile(join(model, "config.json"), JSON.stringify(configOf("Qwen/Qwen3-32B")));
    await using test = testBoard([at]);
    const query = `model=${encodeURIComponent(model)}&gpus=2xH100-80`;
    const page = async (address: string) => {
      const answer = await test.ask(address, { headers: { accept: "text/html" } });
      return { status: answer.status, text: await answer.text() };
    };
    const form = await page("/plan");
    assert.equal(form.status, 200);
    assert.match(form.text, /<a href="\/plan" aria-current="page">/);
    const shown = await page(`/plan?${query}&context=&sequences=2`);
    assert.equal(shown.status, 200);
    assert.match(shown.text, /262,144 bytes a token/);
    assert.match(shown.text, /<svg /);
    assert.match(shown.text, /--tensor-parallel-size 2/);
    assert.equal(shown.text.includes("<model>"), false, "what was typed is escaped");
    const { status, body } = await test.json(`/api/plan?${query}&context=32768`);
    assert.equal(status, 200);
    const found = ServingPlan.parse(body);
    assert.equal(found.asked.context, 32_768);
    const wrong = await page(`/plan?${query.replace("H100-80", "H10O-80")}`);
    assert.equal(wrong.status, 400);
    assert.match(wrong.text, /role="alert">Unknown card &quot;H10O-80&quot;/);
    const odd = await test.json(`/api/plan?${query}&contxt=1`);
    assert.equal(odd.status, 400);
    assert.match(JSON.stringify(odd.body), /Did you mean \\"context\\"/);
  }));
