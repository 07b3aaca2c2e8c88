/** The strategist with a real language model behind a real server: the demo's, which is too small to know recipes. */
import assert from "node:assert/strict";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { llamaCppChat } from "../fixtures/model_server.ts";

interface Exchange {
  readonly exchange: number;
  readonly model: string | null;
  readonly reply: string | null;
  readonly outcome: string;
  readonly reason: string | null;
}

Deno.test("a study asks a served language model, says what became of its answers, and goes on", async () => {
  const { python } = await ensureEnvironment("llama_cpp");
  const store = await Deno.makeTempDir();
  try {
    await using server = await llamaCppChat(python, await ensureDemoModel());
    await using lab = await openLab({ store });
    const study = await lab.open({
      ...{ model_name: "tiny", dataset: "tiny", max_trials: 4, methods: ["rtn"] },
      sampler: "random",
      strategist: { base_url: server.base_url, timeout_seconds: 280 },
    }, "asking");
    const { trials, stop } = await study.run({ ask: silentAsk() });
    assert.equal(stop, "max_trials");
    const exchanges = await lab.sql<Exchange>`
      SELECT exchange, model, reply, outcome, reason FROM consultations
      WHERE study_id = 'asking' ORDER BY number, ask, exchange`;
    assert.ok(exchanges.length > 0, "nobody was asked");
    for (const { model, reply, outcome, reason } of exchanges) {
      assert.equal(model, "demo", "as the server names it");
      assert.ok(reply !== null && reply.length > 0, `${outcome}: ${reason}`);
      assert.equal(outcome, reason === null ? "proposed" : "refused");
    }
    // Whoever is refused is told why, and asked once more.
    const refused = exchanges.filter(({ outcome, exchange }) =>
      outcome === "refused" && exchange === 0
    );
    const again = exchanges.filter(({ exchange }) => exchange === 1);
    assert.equal(again.length, refused.length);
    const own = trials.filter(({ strategy }) => strategy?.origin.sampler === "strategist");
    assert.equal(own.length, exchanges.filter(({ outcome }) => outcome === "proposed").length);
    assert.equal(
      trials.filter(({ state, strategy }) => strategy && state === "completed").length,
      4,
    );
  } finally {
    await Deno.remove(store, { recursive: true });
  }
});
