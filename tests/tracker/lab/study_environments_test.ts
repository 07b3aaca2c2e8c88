import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Spec } from "../../../core/mod.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { discoverPlugins } from "../../../tracker/lab/discover.ts";
import {
  makeEnvironments,
  neededEnvironments,
  usualEnvironments,
} from "../../../tracker/lab/runner/study_environments.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const DEPTH = fileURLToPath(new URL("../../fixtures/third_party/depth/depth.ts", import.meta.url));

/** A third party's sampler beside the folders of its Python half; `pins` by file of one environment. */
function plugin(pins: Record<string, string>, environment = "own"): string {
  const folder = temporaryFolder("plugin");
  const envs = join(folder, "python", "envs", environment);
  mkdirSync(envs, { recursive: true });
  for (const [file, text] of Object.entries(pins)) writeFileSync(join(envs, file), text);
  const agent = { kind: "agent", name: "theirs", summary: "Theirs", methods: [] };
  const source = `export default { ...${JSON.stringify(agent)}, ` +
    `python_dir: ${JSON.stringify(join(folder, "python"))} };\n`;
  writeFileSync(join(folder, "theirs.js"), source);
  return join(folder, "theirs.js");
}

const DOCUMENT = JSON.stringify({ summary: "theirs", imports: ["json"], bytes: 1e6 });
const SOUND = { "environment.json": DOCUMENT, "requirements.txt": "natsort==8.4.0\n" };

Deno.test("a plugin's pins are found by their folder's name and must be exact, in words", async () => {
  const path = plugin(SOUND);
  const { environments } = await discoverPlugins([path]);
  assert.deepEqual([...environments.keys()], ["own"]);
  for (
    const [line, shown] of [
      ["numpy>=2", "numpy>=2"],
      ["  scipy", "scipy"],
      ["natsort==8.4.0\n--index-url http://example.org", "--index-url http://example.org"],
      ["natsort @ https://example.org/natsort.whl", "natsort @ https://example.org/natsort.whl"],
    ] as const
  ) {
    const loose = plugin({ ...SOUND, "requirements.txt": `# theirs\n${line}\n` });
    await assert.rejects(
      discoverPlugins([loose]),
      (error: Error) =>
        error.name === "UsageError" && error.message.includes(`"${shown}" is no exact pin`),
      line,
    );
  }
  const odd = plugin({ ...SOUND, "environment.json": DOCUMENT.replace("theirs", "x").slice(1) });
  await assert.rejects(discoverPlugins([odd]), /environment\.json: it is no JSON/);
  const both = { ...JSON.parse(DOCUMENT), base: "default", torch: "2.13.0" };
  const doubled = plugin({ ...SOUND, "environment.json": JSON.stringify(both) });
  await assert.rejects(discoverPlugins([doubled]), /torch is "2\.13\.0" and base is "default"/);
  const unknown = { ...JSON.parse(DOCUMENT), base: "defautl" };
  const based = plugin({ ...SOUND, "environment.json": JSON.stringify(unknown) });
  await assert.rejects(
    discoverPlugins([based]),
    /Unknown environment "defautl". Did you mean "def/,
  );
});

Deno.test("a plugin's pins lie in its own folder, and their names are free", async () => {
  const elsewhere = temporaryFolder("elsewhere");
  writeFileSync(join(elsewhere, "requirements.txt"), "natsort==8.4.0\n");
  const linked = plugin(SOUND);
  const file = join(linked, "..", "python", "envs", "own", "requirements.txt");
  rmSync(file);
  symlinkSync(join(elsewhere, "requirements.txt"), file);
  await assert.rejects(
    discoverPlugins([linked]),
    /environment own of the plugin .*requirements\.txt lies at .*, outside the plugin's own folder/,
  );
  rmSync(file);
  await assert.rejects(discoverPlugins([linked]), /there is no .*requirements\.txt/);
  const taken = plugin(SOUND, "default");
  await assert.rejects(discoverPlugins([taken]), /"default" of .* pare has an environment of that/);
  const named = plugin(SOUND, "Own-1");
  await assert.rejects(discoverPlugins([named]), /a name is of small letters/);
  const [first, second] = [plugin(SOUND), plugin(SOUND)];
  const other = await Deno.readTextFile(second);
  await Deno.writeTextFile(second, other.replaceAll('"theirs"', '"others"'));
  await assert.rejects(
    discoverPlugins([first, second]),
    /Cannot register environment "own" of .* has that name already/,
  );
});

Deno.test("a study needs the environments of its runtime and of the methods that may be used", async () => {
  const registry = await discoverPlugins([DEPTH]);
  const verdict = (agent: string, method: string, supported: boolean) => ({
    agent,
    method,
    supported,
    reason: "",
  });
  const spec = (runtime: string, dropping: boolean) => ({
    runtime,
    // What runs a program beside is refused where that is not made.
    methods: [
      verdict("depth", "block_dropping", dropping),
      verdict("quantization", "kquant", false),
      verdict("kv_cache", "kvpress", false),
    ],
  } as unknown as Spec);
  const needed = (runtime: string, dropping: boolean, methods = true) =>
    [...neededEnvironments(registry, spec(runtime, dropping), { methods }).keys()].sort();
  assert.deepEqual(needed("openvino", true), ["default", "depth", "openvino_export"]);
  assert.deepEqual(needed("openvino", false), ["default", "openvino_export"]);
  assert.deepEqual(needed("llama.cpp", false), ["default", "llama_cpp"]);
  assert.deepEqual(needed("transformers", true), ["default", "depth"]);
  assert.deepEqual(needed("transformers", true, false), ["default"], "nothing is compressed");
  const shipped = await discoverPlugins();
  const proposing = (...names: string[]) =>
    neededEnvironments(
      registry,
      spec("transformers", false),
      { methods: true },
      names.map((name) => shipped.sampler(name)),
    );
  assert.deepEqual([...proposing("random").keys()], ["default"], "only where it is asked for");
  assert.deepEqual(proposing("random", "optuna").get("optuna"), ["the sampler optuna"]);
  const beside = neededEnvironments(
    registry,
    { runtime: "transformers", methods: [] } as unknown as Spec,
    {
      methods: true,
    },
  );
  assert.deepEqual(beside.get("llama_cpp"), ["the method kquant"]);
  assert.deepEqual(usualEnvironments(shipped, false).sort(), [
    "default",
    "llama_cpp",
    "openvino_export",
  ]);
});

Deno.test("an environment that cannot be made refuses the study and says who needs it", async () => {
  const broken = JSON.stringify({ summary: "x", imports: ["no_such_module_here"], bytes: 1e6 });
  const path = plugin({ "environment.json": broken, "requirements.txt": "# nothing\n" });
  const { environments } = await discoverPlugins([path]);
  const client = createBackendClient({
    home: temporaryFolder("home"),
    pins_folders: environments,
  });
  try {
    await assert.rejects(
      makeEnvironments(client, new Map([["own", ["the method dropping"]]])),
      (error: Error) =>
        error.name === "UsageError" &&
        /^Cannot begin the study without the environment own, which the method dropping needs: Cannot use the Python environment own.*no_such_module_here/
          .test(error.message),
    );
  } finally {
    await client.close();
  }
});

Deno.test("a method whose environment nobody has is refused when it is loaded", async () => {
  const folder = temporaryFolder("plugin");
  const text = await Deno.readTextFile(DEPTH);
  const root = new URL("../../../", import.meta.url).href;
  const moved = text.replaceAll("../../../../", root).replace('"depth", gpu', '"dephts", gpu');
  await Deno.writeTextFile(join(folder, "depth.ts"), moved);
  await assert.rejects(
    discoverPlugins([join(folder, "depth.ts")]),
    /Cannot register method block_dropping: Unknown environment "dephts"/,
  );
});
