import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { discoverPlugins } from "../../tracker/lab/discover.ts";
import { filesBelow, ROOT, sayGone } from "./sources.ts";

/** Files beside the families that still name a knob, and which: they shrink, and none is added. */
const KNOWN: Record<string, readonly string[]> = {
  // The grid that a checkpoint's own weights lie on, in records of the journal and their columns.
  "core/schemas/facts.ts": ["bits", "group_size", "symmetric"],
  "core/spec/infer_spec.ts": ["bits", "group_size", "symmetric"],
  "tracker/store/rows/study_rows.ts": ["bits", "group_size", "symmetric"],
  "core/schemas/artifact.ts": ["bits"],
  "core/schemas/proposal.ts": ["bits"],
  // The budget of `study.mix({ bits })` and `pare mix --bits`: a mean that is asked for, no knob.
  "tracker/session/study_mix.ts": ["bits"],
  "tracker/commands/study/mix.ts": ["bits"],
  // Keys of config.json's quantization_config, as other libraries write them.
  "core/serving/plan/model/stored_form.ts": ["bits", "group_size", "symmetric"],
  // A key of a config's image encoder.
  "core/serving/plan/model/vision.ts": ["mlp_ratio"],
  // What is said of sizes, until each form says it.
  "core/strategies/embedding_actions.ts": ["bits"],
  "tracker/commands/study/evaluation_output.ts": ["bits"],
  "tracker/commands/output/study_said.ts": ["bits"],
  "tracker/show/reports/provenance_blocks.ts": ["bits"],
  "tracker/lab/runner/forms/prove_form.ts": ["bits"],
};

/** Words of everyday, which a knob may have for a name and no reader takes for the knob. */
const EVERYDAY = new Set([
  "samples",
  "targets",
  "scope",
  "share",
  "steps",
  "rank",
  "alpha",
  "rate",
  "tokens",
  "window",
  "pattern",
  "merge",
  "importance",
  "batch",
  "beta",
  "codes",
  "mode",
  "temperature",
  "blocks",
  "budget",
  "kernel",
  "pool",
  "rounds",
  "file",
  "content",
]);

/** What a text names of these, comments apart. */
function named(text: string, knobs: readonly string[]): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  return knobs.filter((knob) =>
    new RegExp(`(?<![\\w.$-])${knob}(?![\\w-])|\\.${knob}\\b`).test(code)
  );
}

Deno.test("core and tracker name no knob of a family", async () => {
  const { methods } = await discoverPlugins([]);
  const all = new Set(methods.flatMap(({ method }) => Object.keys(method.knobs ?? {})));
  const knobs = [...all].filter((name) => !EVERYDAY.has(name));
  assert.ok(knobs.includes("group_size"), knobs.join(", "));
  const found = new Map<string, string[]>();
  for (const file of await filesBelow(["core", "tracker"], ".ts")) {
    const names = named(await readFile(join(ROOT, file), "utf8"), knobs);
    if (names.length > 0) found.set(file, names);
  }
  const added = [...found].map(([file, names]) =>
    [file, names.filter((name) => !KNOWN[file]?.includes(name))] as const
  );
  assert.deepEqual(added.filter(([, names]) => names.length > 0), []);
  const gone = Object.entries(KNOWN).flatMap(([file, names]) =>
    names.filter((name) => !found.get(file)?.includes(name)).map((name) => `${file} ${name}`)
  );
  sayGone("knobs_test.ts", gone);
});

Deno.test("named() sees a knob in a property, a string and a type, and none in a comment", () => {
  const knobs = ["group_size", "bits"];
  assert.deepEqual(named("params.group_size; x['bits']", knobs), knobs);
  assert.deepEqual(named("// bits\n/** group_size */ weight_bits", knobs), []);
});
