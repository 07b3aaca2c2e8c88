import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { pareWords, runPare, startProgram } from "../../fixtures/programs.ts";
import { freePort, scriptedServer } from "../../fixtures/scripted_server.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

/** A program `vllm` that has no memory for more than 0.75 of it, and then serves as scripted. */
function vllmWithLittleMemory(folder: string) {
  const port = freePort();
  const scripted = scriptedServer(folder, "serves", port);
  const [, program] = scripted.command.args;
  const path = join(folder, "vllm");
  Deno.writeTextFileSync(
    path,
    `#!/usr/bin/env python3
import sys
words = sys.argv[1:]
open(${JSON.stringify(join(folder, "asked"))}, "a").write(" ".join(words) + "\\n")
share = words[words.index("--gpu-memory-utilization") + 1] if "--gpu-memory-utilization" in words else "0.92"
if float(share) > 0.75:
    sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
sys.argv = ["-c", "serves", ${JSON.stringify(String(port))}, ${
      JSON.stringify(join(folder, "pids"))
    }]
${program}`,
  );
  chmodSync(path, 0o755);
  const env = { PARE_HOME: join(folder, "home"), PATH: `${folder}:${Deno.env.get("PATH")}` };
  return {
    env,
    port,
    asked: () => Deno.readTextFileSync(join(folder, "asked")).trim().split("\n"),
  };
}

Deno.test("a server without memory is said with its remedies, and tried by them with --retry", async () => {
  const { env, port, asked } = vllmWithLittleMemory(temporaryFolder("little-memory"));
  const words = ["serve", "some/model", "--with", "vllm", "--port", String(port)];
  const failed = await runPare(words, env);
  assert.equal(failed.exitCode, 2);
  assert.match(
    failed.stderr,
    /Cannot serve some\/model: it ended with status 1\.\nIts last lines:\ntorch\.OutOfMemoryError: .*\ngpu_out_of_memory: model, cache .*\n {2}1\. lower the share/,
  );
  assert.equal(asked().length, 1, "nothing was tried unasked");

  const server = startProgram(pareWords(...words, "--retry"), { env: { ...env, NO_COLOR: "1" } });
  try {
    assert.equal(await server.line(), `OPENAI_BASE_URL=http://127.0.0.1:${port}/v1`);
  } finally {
    server.signal("SIGINT");
    assert.equal((await server.exited).code, 0);
  }
  const own = `serve some/model --served-model-name some/model --host 127.0.0.1 --port ${port}`;
  assert.deepEqual(asked().slice(1), [
    own,
    `${own} --gpu-memory-utilization 0.82`,
    `${own} --gpu-memory-utilization 0.72`,
  ]);
  const told = server.last_words;
  assert.match(
    told,
    /gpu_out_of_memory: .*; trying: lower the share .* \(--gpu-memory-utilization 0\.82\)/,
  );
});

Deno.test("words after -- reach the server that knows them, and no other", async () => {
  const { env, port, asked } = vllmWithLittleMemory(temporaryFolder("words"));
  const serve = ["serve", "some/model", "--port", String(port), "--with"];
  const after = ["--", "--gpu-memory-utilization", "0.99", "--dtype", "bfloat16"];
  assert.equal((await runPare([...serve, "vllm", ...after], env)).exitCode, 2);
  assert.match(asked()[0]!, / --gpu-memory-utilization 0\.99 --dtype bfloat16$/);
  const { stderr } = await runPare([...serve, "openvino", ...after], env);
  assert.match(stderr, /^pare: Cannot pass --gpu-memory-utilization on: words after -- are for/);
});

Deno.test("a server that is not installed is one sentence", async () => {
  const env = { PARE_HOME: temporaryFolder("no-vllm") };
  const { exitCode, stderr } = await runPare(["serve", "some/model", "--with", "vllm"], env);
  assert.equal(exitCode, 2);
  assert.match(
    stderr,
    /^pare: Cannot serve some\/model with vllm: there is no program vllm on PATH/,
  );
});

Deno.test("pare diagnose reads a log, answers by name and lists every question", async () => {
  const folder = temporaryFolder("diagnose");
  const log = join(folder, "server.log");
  Deno.writeTextFileSync(log, "INFO starting\n[Errno 98] Address already in use\n");
  const read = await runPare(["diagnose", log]);
  assert.match(
    read.stdout,
    /^Address already in use\nport_in_use: another program listens there\n {2}1\./,
  );
  const named = await runPare(["diagnose", "torch_without_cuda"]);
  assert.match(named.stdout, /no longer right: .*numpy<2\.0/);
  const all = await runPare(["diagnose"]);
  assert.ok(all.stdout.split("\n").length > 20);
  const wrong = await runPare(["diagnose", "port_in_us"]);
  assert.match(wrong.stderr, /^pare: Unknown diagnosis "port_in_us". Did you mean "port_in_use"/);
});
