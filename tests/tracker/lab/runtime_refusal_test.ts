import { ignoreUnless } from "../../run/counts.ts";
import assert from "node:assert/strict";
import { hasGpu } from "../../../python-backends/environments/torch_wheel.ts";
import { runPare } from "../../fixtures/programs.ts";

/** The command line in an empty home, where no environment is and none could be made in time. */
async function pare(...words: string[]) {
  const home = await Deno.makeTempDir();
  try {
    const result = await runPare(words, { PARE_HOME: home });
    const made = await Array.fromAsync(Deno.readDir(home));
    return { ...result, made: made.map(({ name }) => name) };
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

Deno.test({
  name: "a runtime that needs a GPU is refused before a model is read or an environment is made",
  ignore: ignoreUnless(!await hasGpu(), "it is about a machine without a GPU"),
  async fn() {
    const run = await pare("run", "--model", "demo", "--dataset", "demo", "--runtime", "vllm");
    assert.equal(run.exitCode, 2);
    assert.match(run.stderr, /Cannot measure speed in vllm here: it needs an NVIDIA GPU/);
    assert.ok(!run.made.includes("envs") && !run.made.includes("demo-model"), `${run.made}`);
    const setup = await pare("setup", "vllm");
    assert.equal(setup.exitCode, 2);
    assert.match(setup.stderr, /Cannot make the Python environment vllm here/);
  },
});

Deno.test("pare plugins says what each runtime can hold", async () => {
  const { stdout } = await pare("plugins");
  for (const name of ["llama.cpp", "openvino", "transformers", "vllm"]) {
    assert.match(stdout, new RegExp(`runtime +${name.replace(".", "\\.")} .*; holds `));
  }
});

Deno.test("an environment that is not known is answered with the nearest", async () => {
  const { stderr, exitCode } = await pare("setup", "lama_cpp");
  assert.equal(exitCode, 2);
  assert.match(stderr, /Unknown environment "lama_cpp"\. Did you mean "llama_cpp"\?/);
});
