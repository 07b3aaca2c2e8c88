import assert from "node:assert/strict";
import { defineTask, type Facts, inferSpec } from "../../core/mod.ts";
import { plugins, request, smallFacts, withDataset } from "./spec_fixtures.ts";

const [some] = plugins.tasks;
const programs = defineTask({
  ...some!,
  name: "programs",
  datasets: ["writing"],
  definition: { repeats: 10, generation_kwargs: { max_gen_toks: 512 } },
  runs_code: true,
});
const withPrograms = { ...plugins, tasks: [...plugins.tasks, programs] };
const problem = "bubblewrap is not installed: install it with `sudo apt-get install bubblewrap`";

function facts(dataset: string, sandbox_problem: string | null): Facts {
  const small = withDataset(smallFacts(), dataset);
  return { ...small, device: { ...small.device, sandbox_problem } };
}

function infer(dataset: string, sandbox_problem: string | null, allow_unsafe_code = false) {
  const asked = request({ dataset, allow_unsafe_code });
  return inferSpec(asked, facts(dataset, sandbox_problem), withPrograms);
}

Deno.test("with a sandbox a task of programs is measured as any other", () => {
  assert.deepEqual(infer("code", null).tasks.map(({ task }) => task), ["programs"]);
});

Deno.test("how many programs will be drawn is said before a study on a CPU, and on no GPU", () => {
  const [note] = infer("writing", null).warnings;
  assert.match(note ?? "", /^programs draws 10 programs of up to 512 tokens for each problem \(/);
  assert.match(note ?? "", /\(\d+ on the proxy, (\d+|all) in full\) of every trial/);
  const asked = request({ dataset: "writing", samples_per_problem: 30 });
  assert.match(
    inferSpec(asked, facts("writing", null), withPrograms).warnings[0]!,
    /draws 30 prog/,
  );
  const small = facts("writing", null);
  const gpu = { ...small, device: { ...small.device, device: "cuda" as const } };
  assert.deepEqual(inferSpec(request({ dataset: "writing" }), gpu, withPrograms).warnings, []);
});

Deno.test("without one a set goes on without its programs and says how to get them", () => {
  const { tasks, missing_tasks, warnings } = infer("general", problem);
  assert.ok(tasks.length > 0 && tasks.every(({ task }) => task !== "programs"));
  const reason = missing_tasks.find(({ task }) => task === "programs")?.reason ?? "";
  assert.match(reason, /sandbox only, and bubblewrap is not installed: .*apt-get install bubble/);
  assert.match(reason, /or accept the risk with --unsafe-code; "general" asks for it/);
  assert.match(warnings[0] ?? "", /programs: the code that a model writes runs in a sandbox only/);
});

Deno.test("without one a study of programs alone is refused in one sentence", () => {
  for (const dataset of ["code", "programs", "writing"]) {
    assert.throws(
      () => infer(dataset, problem),
      /^UsageError: Cannot evaluate on "\w+": (programs: )?the code that a model writes runs in a sandbox only, and bubblewrap is not installed: install it with `sudo apt-get install bubblewrap`, or accept the risk with --unsafe-code$/,
      dataset,
    );
  }
});

Deno.test("a user who allows unsafe code gets the task, and is told", () => {
  const { tasks, warnings } = infer("code", problem, true);
  assert.deepEqual(tasks.map(({ task }) => task), ["programs"]);
  assert.match(warnings[0] ?? "", /for programs run without a sandbox, as --unsafe-code was given/);
});
