import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { filesBelow, ROOT, sayGone, SHIPPED } from "./sources.ts";

/** Files in which the names of the first and the last rung may stand, and why. */
const ALLOWED: Record<string, string> = {
  "core/schemas/fidelity.ts": "says what they are",
  "core/schemas/request.ts": "a user counts the samples of both by these names",
  "core/tasks/plan_rungs.ts": "reads those counts",
  "tracker/commands/input/parse_samples.ts": "writes them",
  "tracker/store/index/schema/views/headline.sql": "the last rung's figure comes first",
  "tracker/store/index/schema/views/knob_effects.sql": "what is timed counts as the last rung's",
  "tracker/store/index/schema/views/knob_pairs.sql": "what is timed counts as the last rung's",
  "tracker/store/index/schema/views/leaderboard_wide.sql": "the last rung alone has places",
  "tracker/store/index/schema/views/paired_differences.sql": "the last rung alone decides",
  "tracker/store/index/schema/views/study_comparison.sql": "the last rung's protocol and rewards",
  "tracker/store/index/schema/views/stage_comparison.sql": "the last rung's trial comes first",
  "python-backends/pare_backends/measuring/speed_figures.py": "what is timed is of no sample",
  "plugins/finetuning/full.ts": "full fine-tuning is called so",
  "core/runs/sweep/plan.ts": "papers call the whole cache so",
  "plugins/evaluation/generations/mbpp.ts": "MBPP calls its data so",
};

/** The names as values, and the first one as a field, comments apart. */
function named(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|(\/\/|-- |#).*$/gm, "");
  return code.match(/(["'`])(proxy|full)\1|\.proxy\b|(?<![\w.])proxy\??:/g) ?? [];
}

Deno.test("what a rung is called is decided in one file: no other asks for proxy or full", async () => {
  const found: string[] = [];
  for (const ending of [".ts", ".py", ".sql"]) {
    for (const file of await filesBelow(SHIPPED, ending)) {
      if (named(await readFile(join(ROOT, file), "utf8")).length > 0) found.push(file);
    }
  }
  assert.ok(found.includes("core/schemas/fidelity.ts"));
  const added = found.filter((file) => ALLOWED[file] === undefined);
  assert.deepEqual(
    added,
    [],
    "ask isDecisive(), or take the study's rungs (core/schemas/rungs.ts)",
  );
  sayGone("rungs_test.ts", Object.keys(ALLOWED).filter((file) => !found.includes(file)));
});

Deno.test("named() sees a rung in a literal, a type, a query and a field, and none in prose", () => {
  assert.equal(
    named("type F = \"proxy\" | 'full'; x = { proxy: 1, proxy?: 2 }; y.proxy").length,
    5,
  );
  assert.equal(named("WHERE m.fidelity = 'full' -- 'proxy'").length, 1);
  assert.deepEqual(named('// "proxy"\n/** "full" */ say("the proxy", "in full"); on_proxy: 1'), []);
});
