/** The strategist with a real language model behind it: the demo's, which knows little, behind a real server. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { transformersServe } from "../fixtures/model_server.ts";

interface Exchange {
  readonly number: number;
  readonly exchange: number;
  readonly reply: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  readonly prompt: string;
}

Deno.test("a study asks a served language model, runs what it says where that can run, and goes on", async () => {
  const { python } = await ensureEnvironment("serve");
  const folder = await Deno.makeTempDir();
  try {
    await using lab = await openLab({ store: join(folder, "store") });
    const demo = await lab.open({ model_name: "demo", dataset: "demo" }, "demo");
    const model = demo.facts.model.path;
    await using server = await transformersServe(python, model);
    const study = await lab.open({
      ...{ model_name: "tiny", dataset: "tiny", max_trials: 4, methods: ["rtn"] },
      sampler: "random",
      strategist: { base_url: server.base_url, model, timeout_seconds: 300 },
    }, "asking");
    const { trials, stop } = await study.run({ ask: silentAsk() });
    assert.equal(stop, "max_trials");
    const rows = await lab.sql<Exchange>`
      SELECT number, exchange, reply, outcome, reason, prompt FROM consultations
      WHERE study_id = 'asking' ORDER BY number, ask, exchange`;
    const exchanges = [...rows];
    console.log(
      JSON.stringify(
        exchanges.map(({ prompt, ...rest }) => ({ ...rest, chars: prompt.length })),
        null,
        1,
      ),
    );
    assert.ok(exchanges.length > 0);
    for (const { reply, outcome, reason } of exchanges) {
      assert.ok(reply !== null && reply.length > 0, `${outcome}: ${reason}`);
      assert.ok(
        outcome === "proposed" ? reason === null : outcome === "refused" && reason !== null,
      );
    }
    const own = trials.filter(({ strategy }) => strategy?.origin.sampler === "strategist");
    const proposed = exchanges.filter(({ outcome }) => outcome === "proposed");
    assert.equal(own.length, proposed.length, "what it proposed is what was run of it");
    assert.equal(trials.filter(({ strategy }) => strategy !== null).length, 4);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
