import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { pareWords, runPare, startProgram } from "../../fixtures/programs.ts";
import { freePort } from "../../fixtures/scripted_server.ts";
import { shareDefaultEnvironment } from "../../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

Deno.test("pare serve says where a model answers, and Ctrl-C ends it", async () => {
  await shareDefaultEnvironment();
  const env = { PARE_HOME: temporaryFolder("served"), OMP_NUM_THREADS: "1", NO_COLOR: "1" };
  const port = freePort();
  const words = ["serve", "tiny", "--with", "transformers", "--port", String(port)];
  const server = startProgram(pareWords(...words), { env });
  const origin = `http://127.0.0.1:${port}`;
  try {
    assert.equal(await server.line(), `OPENAI_BASE_URL=${origin}/v1`);
    assert.equal(await server.line(), "LLM_MODEL=tiny");
    const again = await runPare(["serve", "tiny", "--port", String(port)], env);
    assert.equal(again.exitCode, 2);
    assert.match(again.stderr, /^pare: Cannot serve on 127.0.0.1:\d+ as another program listens/);
    const asked = { prompt: "the", max_tokens: 3, logprobs: 1, temperature: 0 };
    const answer = await fetch(`${origin}/v1/completions`, {
      method: "POST",
      body: JSON.stringify(asked),
    });
    const { choices: [{ logprobs }] } = await answer.json();
    assert(logprobs.token_logprobs.every((value: number) => value < 0));
  } finally {
    server.signal("SIGINT");
  }
  assert.equal((await server.exited).code, 0);
  Deno.listen({ hostname: "127.0.0.1", port }).close(); // nobody has it any more
});

Deno.test("what cannot be served is one sentence, before any work", async () => {
  await shareDefaultEnvironment();
  const env = { PARE_HOME: temporaryFolder("not-served") };
  const said = async (...words: string[]) => {
    const { exitCode, stderr, stdout } = await runPare(["serve", ...words], env);
    assert.equal(exitCode, 2, stderr);
    assert.equal(stdout, "");
    return stderr;
  };
  assert.match(await said("no/t01"), /^pare: Cannot serve no\/t01 as the store .* does not exist$/);
  assert.match(
    await said("tiny", "--with", "openvin"),
    /^pare: Unknown server "openvin". Did you mean "openvino"\? Known: .*vllm/,
  );
  assert.match(
    await said("tiny", "--with", "openvino_genai"),
    /^pare: Cannot serve tiny with openvino_genai: it gives tokens and no probabilities; openvino serves/,
  );
  const plugin = fileURLToPath(
    new URL("../../fixtures/third_party/bfloat16/bfloat16.ts", import.meta.url),
  );
  assert.match(
    await said("tiny", "--with", "bfloat16", "--plugin", plugin),
    /^pare: Cannot serve tiny with bfloat16: a third party's runtime without a form/,
  );
  assert.match(await said("./no-model"), /^pare: Cannot .*no-model/);
  assert.match(await said("tiny", "--port", "70000"), /^pare: Cannot take --port .* 65535$/);
  assert.match(await said("tiny", "--host", "203.0.113.1"), /^pare: Cannot serve on 203.0.113.1:/);
});
