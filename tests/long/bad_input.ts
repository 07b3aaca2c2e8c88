import assert from "node:assert/strict";
import { journalsOf } from "../fixtures/stores/journals.ts";
import { runPare } from "../fixtures/programs.ts";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const pare = (words: string[], env: Record<string, string> = {}) =>
  runPare(words, { HF_HUB_OFFLINE: "1", ...env });

/** The mistake is one sentence on stderr, exit code 2, no stack, and the store has no study. */
async function refused(words: string[], expected: RegExp, env?: Record<string, string>) {
  const folder = await Deno.makeTempDir();
  try {
    const store = join(folder, "store");
    const run = await pare([...words, "--store", store], env);
    const shown = `${words.join(" ")}\n${run.stdout}\n${run.stderr}`;
    assert.equal(run.exitCode, 2, shown);
    assert.match(run.stderr, expected, shown);
    assert.doesNotMatch(run.stderr, /^\s+at /m, `a stack is no sentence: ${shown}`);
    assert.equal(await journalsOf(store), "", `half-written: ${shown}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const run = (model: string, dataset: string, ...more: string[]) => [
  ...["run", "--yes", "--model", model, "--dataset", dataset],
  ...more,
];

Deno.test("a mistake on the command line is told before anything starts", async () => {
  // No model is looked for before: there is none.
  const gate = run("./no-such-model", "demo", "--gates", "flps=0.1");
  await refused(gate, /^pare: Unknown gate "flps"\. Did you mean "flips"\?/m);
  await refused(run("tiny", "tiny", "--budget", "0"), /--budget.*above 0.*"0"/);
  await refused(run("tiny", "tiny", "--buget", "2h"), /unknown option.*[Dd]id you mean --budget/s);
  await refused(["run", "/nowhere/study.json"], /Cannot read the study \/nowhere\/study\.json/);
  await refused(run("tiny", "/nowhere/data.jsonl"), /Cannot read the dataset .*no such file/);
  await refused(run("tiny", "items.csv"), /items\.csv as a dataset: a file must be a \.jsonl/);
  await refused(
    run("tiny", "tiny", "--objectives", "accuracy=0"),
    /at least one weight .* above 0/,
  );
});

Deno.test("a data file with a broken line is refused with the line's number", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const broken = join(folder, "broken.jsonl");
    await writeFile(broken, '{"prompt": "a", "answer": "b"}\n{"prompt": "a",\n');
    await refused(run("tiny", broken), /line 2 of .*broken\.jsonl/);
    const mixed = join(folder, "mixed.jsonl");
    await writeFile(mixed, '{"prompt": "a", "answer": "b"}\n{"text": "a"}\n');
    await refused(run("tiny", mixed), /line 2 of .*mixed\.jsonl/);
    const empty = join(folder, "empty.jsonl");
    await writeFile(empty, "");
    await refused(run("tiny", empty), /empty\.jsonl/);
    const whole = join(folder, "whole.jsonl");
    await writeFile(whole, '{"prompt": "a", "answer": "b"}\n');
    await refused(
      run("tiny", whole, "--training-data", whole),
      /Cannot train on .*whole\.jsonl as it is the dataset that the study evaluates/,
    );
    await refused(
      run("tiny", whole, "--calibration-data", whole),
      /Cannot calibrate on .*whole\.jsonl as it is the dataset that the study evaluates/,
    );
    await refused(
      run("tiny", "tiny", "--training-data", "/nowhere/t.jsonl"),
      /Cannot train on \/nowhere\/t\.jsonl as there is no such file/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a study document with an unknown field, method or knob gets the nearest name", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const document = join(folder, "study.json");
    const write = (more: Record<string, unknown>) =>
      writeFile(document, JSON.stringify({ model_name: "tiny", dataset: "tiny", ...more }));
    const strategy = (method: string, params: Record<string, unknown>) => ({
      strategies: [{ actions: [{ agent: "quantization", method, params }] }],
    });
    await write({ max_trails: 3 });
    await refused(["run", document], /"max_trails".*Did you mean "max_trials"/s);
    await write(strategy("gptqq", {}));
    await refused(["run", document, "--yes"], /"gptqq".*Did you mean "gptq"/s);
    await write(strategy("rtn", { bitz: 4 }));
    await refused(["run", document, "--yes"], /"bitz".*Did you mean "bits"/s);
    await write(strategy("rtn", { bits: 5 }));
    await refused(["run", document, "--yes"], /bits.*5/s);
    await write({ methods: ["autoroud"] });
    await refused(["run", document, "--yes"], /"autoroud".*Did you mean "autoround"/s);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a document, a store or a home that is none is told in one sentence", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const document = join(folder, "study.json");
    for (const text of ["null", "[]", "3"]) {
      await writeFile(document, text);
      await refused(["run", document], /Cannot take the study .* must be an object/);
    }
    await writeFile(document, '{"model_name": \u0000\n\n');
    await refused(["run", document], /^pare: Cannot read the study .* as JSON: [^\n]*$/m);
    const home = { PARE_HOME: document };
    await refused(
      run("tiny", "tiny"),
      /Cannot use .*study\.json for PARE_HOME: a file is in/,
      home,
    );
    const plugin = join(folder, "broken.ts");
    await writeFile(plugin, "export default {{{\n");
    await refused(
      run("tiny", "tiny", "--plugin", plugin),
      /^pare: Cannot load plugin .*broken\.ts: [^\n]*broken\.ts:1:\d+\)$/m,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a directory that is no sound checkpoint is refused, and so is its own code", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const empty = join(folder, "empty");
    await mkdir(empty);
    await refused(run(empty, "tiny"), /config\.json/);
    const corrupted = join(folder, "corrupted");
    await mkdir(corrupted);
    const config = { model_type: "llama", architectures: ["LlamaForCausalLM"] };
    await writeFile(join(corrupted, "config.json"), JSON.stringify(config));
    await writeFile(join(corrupted, "model.safetensors"), "not a safetensors file");
    await refused(run(corrupted, "tiny"), /model\.safetensors/);
    const custom = join(folder, "custom");
    await mkdir(custom);
    const auto_map = { AutoModelForCausalLM: "modeling_x.X" };
    const own = { ...config, architectures: ["OwnForCausalLM"], auto_map };
    await writeFile(join(custom, "config.json"), JSON.stringify(own));
    await refused(run(custom, "tiny"), /trust-remote-code/);
    await refused(run("no-such-owner/no-such-model", "tiny"), /no-such-owner\/no-such-model/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("without a Python that is new enough, the sentence says what was found", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const old = join(folder, "python3");
    const says = `3 9 18\\n${old}\\nvenv\\n`; // as an interpreter of that age answers
    await writeFile(old, `#!/bin/sh\nprintf '${says}'\n`, { mode: 0o755 });
    const env = (PARE_PYTHON: string) => ({
      PARE_PYTHON,
      PARE_HOME: join(folder, "home"),
      PARE_ENV_DEFAULT: "", // other tests of this process may have named an interpreter
    });
    const wanted = "needs Python 3\\.11 or newer .*venv module, but";
    const help = "install one .* or name it with PARE_PYTHON\\b";
    const none = new RegExp(`^pare: .*${wanted} none of /nowhere/python3 runs; ${help}`, "m");
    await refused(run("tiny", "tiny"), none, env("/nowhere/python3"));
    const aged = new RegExp(`^pare: .*${wanted} \\S+/python3 is 3\\.9\\.18; ${help}`, "m");
    await refused(run("tiny", "tiny"), aged, env(old));
    await assert.rejects(readdir(join(folder, "home", "envs")), /no such file/i);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
