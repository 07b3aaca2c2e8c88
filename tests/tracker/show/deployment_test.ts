import assert from "node:assert/strict";
import { replayStudy } from "../../../core/mod.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import {
  deploymentLines,
  deploymentSentence,
  deploymentsOf,
} from "../../../tracker/show/view/deployment.ts";
import { sidesSentence } from "../../../tracker/show/view/deployment.ts";
import { readSentence } from "../../../tracker/show/view/size_words.ts";
import { smallFacts } from "../../core/spec_facts.ts";
import { runtimes } from "../../core/spec_fixtures.ts";
import { run, samplesIn, world } from "../../core/study_world.ts";

const speed = (runtime: string, precision: string, latency_ms: number) => ({
  ...{ runtime, precision, latency_ms, standard_error: 0.1, passes: 5, reason: null },
  numerics: { inference_precision: precision, kv_precision: "f32", activation_group: 0 },
  ...{ bytes_read: 538_000_000, at: "2026-01-01T00:00:00Z" },
});

Deno.test("the answer names the runtime, its time and the lines that run the file there", async () => {
  const facts = {
    ...smallFacts(),
    runtimes: [speed("plain", "f16", 8.5), speed("swift", "bf16", 15.4)],
  };
  const w = world({ runtime: "swift" }, {
    facts,
    spec: (spec) => ({
      ...spec,
      runtimes: spec.runtimes!.map((one) =>
        one.runtime === "plain" ? { ...one, loads: "gguf" } : one
      ),
    }),
  });
  // The other runtime is twice as fast.
  const { speed: timed } = w.backend;
  w.backend.speed = async (trial_id, artifact, baseline, runtime, alone) => {
    const found = await timed(trial_id, artifact, baseline, runtime, alone);
    if (found.ok && runtime === "plain") {
      for (const row of [...found.value.measurements, ...found.value.baseline_measurements]) {
        if (row.metric === "latency_ms") row.value /= 2;
      }
    }
    return found;
  };
  const { recommendation } = await run(w, { runtimes });
  const view = await buildView("study", w.records, samplesIn(w));
  const id = recommendation!.trial_id;
  assert.equal(view.elsewhere.length, replayStudy(w.records, "study")!.elsewhere.length);
  const [first, second] = deploymentsOf(view, id);
  assert.deepEqual([first!.runtime, second!.runtime], ["plain", "swift"]);
  assert.ok(first!.latency_ms < second!.latency_ms);
  const sentence = deploymentSentence(view, id)!;
  assert.match(
    sentence,
    /^t\d+ is fastest in plain.*: .* ms a token.*; in swift.* ms a token, .* of the original's in swift/,
  );
  assert.match(
    deploymentLines(view, id),
    /^npx -y deno task pare convert study\/(t\d+) \.\/\1-gguf --to gguf\n# llama.cpp\nllama-cli -m \1-gguf\/model.gguf/,
  );
  const renamed = <T extends { readonly runtime: string | null }>(one: T): T =>
    one.runtime === "plain" ? { ...one, runtime: "ik_llama.cpp" } : one;
  const fork = {
    ...view,
    spec: { ...view.spec, runtimes: view.spec.runtimes!.map(renamed) },
    elsewhere: view.elsewhere.map((one) => ({
      ...renamed(one),
      measurements: one.measurements.map(renamed),
    })),
  };
  assert.match(
    deploymentLines(fork, id),
    /--to gguf\n# ik_llama\.cpp.*\nllama-cli -m t\d+-gguf\/model\.gguf -rtr .*\n# .*\nnpx -y deno task pare serve study\/t\d+ --with ik_llama\.cpp$/,
  );
  assert.match(sidesSentence(view)!, /^× baseline: time per token over the original's in swift/);
  assert.equal(readSentence(view), "A token reads 538.0 MB of the original in swift (bfloat16).");
  const alone = { ...view, elsewhere: [] };
  assert.match(
    deploymentSentence(alone, id)!,
    /runs in swift.* The original at its best here took 8.50 ms, in plain \(float16\), as the study began\.$/,
  );
  assert.equal(deploymentLines(alone, id), "");
  assert.equal(deploymentSentence(view, "study/t99"), null);
  const change = (value: number, task: string | null) => ({
    ...view.elsewhere[0]!.measurements[0]!,
    ...{ metric: "runtime_accuracy_change", value, task, n: task === null ? 100 : 60 },
    standard_error: 0.021,
  });
  const scored = {
    ...view,
    elsewhere: view.elsewhere.map((one) => ({
      ...one,
      measurements: [...one.measurements, change(-0.004, null), change(0.017, "choices")],
    })),
  };
  assert.match(
    deploymentSentence(scored, id)!,
    /\(scored there on 100 samples, accuracy changes by -0\.004\d* ± 0\.021, a standard error\)/,
  );
});
