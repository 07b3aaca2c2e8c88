import assert from "node:assert/strict";
import { evaluationFromOptions } from "../../tracker/commands/study/evaluate.ts";
import { openLab, silentAsk } from "../../tracker/mod.ts";
import { pareWords, runPare, startProgram } from "../fixtures/programs.ts";
import { freePort } from "../fixtures/scripted_server.ts";
import { shareDefaultEnvironment } from "../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const ROUNDED = { agent: "quantization", method: "rtn", params: { bits: 4, group_size: 32 } };

Deno.test("a served trial says what the trial said, sample by sample, and goes at Ctrl-C", async () => {
  await shareDefaultEnvironment();
  const fresh = temporaryFolder("served-trial");
  const env = { PARE_HOME: fresh, OMP_NUM_THREADS: "1" };
  await using lab = await openLab({ fresh });
  const study = await lab.open({
    ...{ model_name: "tiny", dataset: "tiny", max_trials: 1, runtime: "transformers" },
    ...{ samples: { proxy: 8, full: 24 }, strategies: [{ actions: [ROUNDED] }] },
  }, "rounded");
  const { trials } = await study.run({ ask: silentAsk() });
  const trial = trials.at(-1)!.trial_id;

  const port = freePort();
  const words = ["serve", trial, "--with", "transformers", "--port", String(port)];
  const server = startProgram(pareWords(...words), { env: { ...env, NO_COLOR: "1" } });
  try {
    assert.equal(await server.line(), `OPENAI_BASE_URL=http://127.0.0.1:${port}/v1`);
    assert.equal(await server.line(), `LLM_MODEL=${trial}`);
    const again = await runPare(["serve", trial, "--port", String(port)], env);
    assert.equal(again.exitCode, 2);
    assert.match(again.stderr, /^pare: Cannot serve on 127.0.0.1:\d+ as another program listens/);

    const tokenizer = (await lab.view("rounded")).artifacts.get(
      trials.at(-1)!.artifact_ids.at(-1)!,
    )!.location;
    const request = evaluationFromOptions({
      ...{ endpoint: `http://127.0.0.1:${port}`, servedModel: trial, tokenizer },
      ...{ dataset: "tiny", fullSamples: "24" },
    }, {});
    const served = await (await lab.open(request, "served")).run({ ask: silentAsk() });
    assert.equal(served.stop, "evaluated", served.message);
    const rows = await lab.sql<{ n: number; apart: number; other: number }>`
      SELECT count(*)::INTEGER AS n, max(abs(a.log_likelihood - b.log_likelihood)) AS apart,
        count(*) FILTER (a.score IS DISTINCT FROM b.score OR a.answer IS DISTINCT FROM b.answer)
          ::INTEGER AS other
      FROM samples a JOIN samples b USING (task, sample_hash, prompt_hash)
      WHERE a.trial_id = ${trial} AND a.fidelity = 'full' AND b.study_id = 'served'`;
    const [{ n, apart, other }] = rows as unknown as [{ n: number; apart: number; other: number }];
    assert.ok(n >= 24, `${n} samples were answered by both`);
    assert.equal(other, 0, "scores and answers are the same");
    assert.ok(apart < 1e-4, `log-likelihoods are ${apart} nats apart`);
  } finally {
    server.signal("SIGINT");
    assert.equal((await server.exited).code, 0);
  }
  Deno.listen({ hostname: "127.0.0.1", port }).close(); // nobody has it any more
});
