import assert from "node:assert/strict";
import type { JournalRecord, Span, Trial, WireTask } from "../../core/mod.ts";
import { artifactsOfOthers, bareRefusal, bareTrials } from "./bare_request.ts";

const GPTQ = { agent: "quantization", method: "gptq", params: { bits: 4 }, resolved: [] };
const ROUND = { agent: "quantization", method: "rtn", params: { bits: 8 }, resolved: [] };

const span = (name: string): Span => ({ name, seconds: 1, library: false });
const APPLY = [span("start"), span("quantize"), span("write"), span("start")];

/** What the request reads of a trial. */
function trial(trial_id: string, actions: unknown[], spans: Span[], metrics: string[]): Trial {
  const measurements = metrics.map((metric) => ({ metric }));
  return { trial_id, actions, spans, measurements } as unknown as Trial;
}

function written(trial_id: string, artifact_id: string, cached: boolean): JournalRecord {
  const artifact = { artifact_id, action: GPTQ };
  return { type: "artifact_written", trial_id, cached, artifact } as unknown as JournalRecord;
}

Deno.test("bareTrials() repeats each trial as far as it came", () => {
  const trials = bareTrials(
    [
      trial("baseline", [], [], ["latency_ms"]),
      trial("whole", [GPTQ, ROUND], [...APPLY, ...APPLY], ["latency_ms"]),
      trial("ended after its first action", [GPTQ, ROUND], APPLY, []),
      trial("took its first from another", [GPTQ, ROUND], APPLY, []),
      trial("refused", [GPTQ], [], []),
    ],
    new Map([["baseline", [{ words: [0, 1] }]], ["whole", [{ words: [0] }, { words: [0, 1] }]]]),
    [written("took its first from another", "a", true)],
  );
  assert.deepEqual(
    trials.map(({ trial_id, actions, evaluations, speed }) => [
      trial_id,
      actions.map(({ method }) => method),
      evaluations.length,
      speed,
    ]),
    [
      ["baseline", [], 1, true],
      ["whole", ["gptq", "rtn"], 2, true],
      ["ended after its first action", ["gptq"], 0, false],
      ["took its first from another", ["gptq", "rtn"], 0, false],
    ],
  );
});

Deno.test("artifactsOfOthers() counts what this study did not make itself", () => {
  const records = [written("t1", "a", false), written("t2", "a", true), written("t3", "b", true)];
  assert.equal(artifactsOfOthers(records), 1);
});

Deno.test("bareRefusal() names the task or the method that no bare script is for", () => {
  const shipped = { task: "words", definition: {}, data_path: "/words.jsonl" } as WireTask;
  const included = { ...shipped, task: "lambada", definition: { include: "lambada.yaml" } };
  const odd = { trial_id: "t", actions: [{ method: "dithered", params: {} }] };
  assert.equal(bareRefusal([shipped], []), null);
  assert.match(bareRefusal([shipped, included], []) ?? "", /cannot run lambada/);
  assert.match(
    bareRefusal([shipped], [{ ...odd, evaluations: [], speed: false }]) ?? "",
    /does not know the method dithered/,
  );
});
