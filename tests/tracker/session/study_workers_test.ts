/** `pare resume --workers`: a study that goes on does so with another number, or with its own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openLab } from "../../../tracker/mod.ts";
import { placeFromOptions } from "../../../tracker/commands/input/study_document.ts";
import { withAsked, withWorkers } from "../../../tracker/jobs/workers/asked_workers.ts";
import { request, smallFacts } from "../../core/spec_fixtures.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";
import { STUDY, studyOpened } from "../../fixtures/stores/records.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const { device, ...others } = smallFacts();
const facts = { ...others, device: { ...device, cores: 8, memory_bytes: 64e9 } };

/** Workers of a study that was begun with two, as it goes on. */
function going(words: { workers?: string }, elsewhere: { count: number } | null = null) {
  const options = placeFromOptions(words) as { workers?: number };
  const asked = withAsked(request({ workers: 2 }), options);
  return withWorkers(asked, { facts, elsewhere, options, begun: true }).workers;
}

Deno.test("a study that goes on has the workers that are asked for, else those that it had", () => {
  assert.equal(going({}), 2);
  assert.equal(going({ workers: "3" }), 3);
  assert.equal(going({ workers: "1" }), 1);
  assert.equal(typeof going({ workers: "auto" }), "number");
  assert.equal(going({ workers: "3" }, { count: 5 }), 5, "an engine says how many there are");
  assert.throws(() => going({ workers: "9" }), /Cannot run 9 workers as this machine has 8 cores/);
});

Deno.test("workers that are asked for as a study is taken up reach its set-up", async () => {
  const store = join(temporaryFolder("study-workers"), "store");
  const opened = studyOpened() as Extract<ReturnType<typeof studyOpened>, { type: "study_opened" }>;
  const evaluation = { ...opened.request, kind: "evaluation", evaluation: {} } as never;
  await (await recordedStore(store, [{ ...opened, request: evaluation }])).close();
  await using lab = await openLab({
    store,
    notebook: false,
    ...placeFromOptions({ workers: "2" }),
  });
  await assert.rejects(
    lab.resume(STUDY),
    /Cannot run 2 workers as a study that only evaluates does one thing after another/,
  );
});
