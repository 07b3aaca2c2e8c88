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
    }, words[words.index("--served-model-name") + 1]]
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

const CONFIGS = new URL("../../core/serving/plan/configs.json", import.meta.url);

Deno.test("cards that are named plan the command, and say what each remedy would come to", async () => {
  const folder = temporaryFolder("planned");
  const { env, port, asked } = vllmWithLittleMemory(folder);
  const model = join(folder, "qwen");
  Deno.mkdirSync(model);
  const configs = JSON.parse(Deno.readTextFileSync(CONFIGS));
  Deno.writeTextFileSync(join(model, "config.json"), JSON.stringify(configs["Qwen/Qwen3-32B"]));
  const words = ["serve", model, "--with", "vllm", "--port", String(port), "--gpus"];
  const server = startProgram(pareWords(...words, "2xH100-80", "--retry"), {
    env: { ...env, NO_COLOR: "1" },
  });
  try {
    assert.equal(await server.line(), `OPENAI_BASE_URL=http://127.0.0.1:${port}/v1`);
  } finally {
    server.signal("SIGINT");
    await server.exited;
  }
  const [first, , last] = asked();
  assert.match(first!, /^serve \S+\/qwen .*--max-model-len \d+ .*--gpu-memory-utilization 0\.92/);
  assert.ok(first!.includes(`--served-model-name ${model}`) && first!.includes("--host 127.0.0.1"));
  assert.match(last!, /--gpu-memory-utilization 0\.72/);
  assert.match(server.last_words, /0\.82\); the plan says that it (does not fit|fits) on \d card/);

  const small = await runPare([...words, "1x4090"], env);
  assert.equal(small.exitCode, 2);
  assert.match(small.stderr, /^pare: Cannot serve \S+ on 1x4090: .*; \d+ of them would do$/m);
  const bare = await runPare([...words.slice(0, -1), "--container"], env);
  assert.match(bare.stderr, /^pare: Cannot take --container without --gpus/);
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
