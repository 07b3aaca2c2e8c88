import assert from "node:assert/strict";
import { parseSampleCounts, parseSampling } from "../../tracker/commands/input/parse_samples.ts";
import { studyFromOptions } from "../../tracker/commands/study_document.ts";

Deno.test("counts of samples are for all tasks, for one, or both", () => {
  assert.deepEqual(parseSampleCounts("40", "proxy"), { proxy: 40 });
  assert.deepEqual(parseSampleCounts("40,mmlu=100", "proxy"), {
    proxy: 40,
    by_task: { mmlu: { proxy: 100 } },
  });
  assert.deepEqual(parseSampleCounts("mmlu=500,gsm8k=9", "full"), {
    by_task: { mmlu: { full: 500 }, gsm8k: { full: 9 } },
  });
  assert.throws(() => parseSampleCounts("mmlu=x", "proxy"), /--proxy-samples as a whole.*"x"/);
  assert.throws(() => parseSampleCounts("0", "full"), /--full-samples .* at least 1/);
  assert.throws(() => parseSampleCounts("1,2", "proxy"), /says a number twice/);
  assert.throws(() => parseSampleCounts("a=1,a=2", "proxy"), /says a number twice/);
  assert.throws(() => parseSampleCounts("=1", "proxy"), /TASK=NUMBER/);
});

Deno.test("a field of --sampling with a task before it holds for that task", () => {
  assert.deepEqual(parseSampling("strategy=random,gsm8k.limit=50,gsm8k.seed=7"), {
    strategy: "random",
    shuffle: true,
    by_task: { gsm8k: { strategy: "stratified", shuffle: true, limit: 50, seed: 7 } },
  });
  assert.throws(() => parseSampling("gsm8k.limt=5"), /field of --sampling "limt".*mean "limit"/);
  assert.throws(() => parseSampling("gsm8k.limit=0"), /by_task\.gsm8k\.limit/);
});

Deno.test("--limit, --fidelity and --offline are fields of the study, above the document's", () => {
  const base = { samples: { by_task: { mmlu: { proxy: 5 } } }, sampling: { limit: 9 } };
  const study = studyFromOptions({
    model: "tiny",
    dataset: "tiny",
    limit: "20",
    fidelity: "full",
    offline: true,
    fullSamples: "gsm8k=3",
  }, base);
  assert.equal(study.sampling?.limit, 20);
  assert.deepEqual([study.fidelity, study.offline], ["full", true]);
  assert.deepEqual(study.samples.by_task, { mmlu: { proxy: 5 }, gsm8k: { full: 3 } });
  assert.throws(
    () => studyFromOptions({ model: "tiny", dataset: "tiny", fidelity: "fast" }),
    /Unknown fidelity "fast"\. Known: full, proxy/,
  );
});
