import assert from "node:assert/strict";
import {
  parseRungs,
  parseSampleCounts,
  parseSampling,
} from "../../../tracker/commands/input/parse_samples.ts";
import { studyFromOptions } from "../../../tracker/commands/input/study_document.ts";

Deno.test("--samples counts windows of text on a rung before the proxy, for all texts alike", () => {
  assert.deepEqual(parseRungs("kl=16,proxy=100,full=400"), { kl: 16, proxy: 100, full: 400 });
  assert.deepEqual(parseRungs("kl=16,half=200"), {
    kl: 16,
    between: [{ fidelity: "half", samples: 200 }],
  });
  assert.deepEqual(parseRungs("kl=16,likelihood=300,proxy=100"), {
    ...{ kl: 16, likelihood: 300, proxy: 100 },
  });
  for (const wrong of ["proxy=100,likelihood=9", "likelihood=9,kl=16", "half=9,likelihood=9"]) {
    assert.throws(() => parseRungs(wrong), /write its rungs in ascending order/);
  }
  assert.throws(() => parseRungs("gsm8k.likelihood=9"), /every benchmark that generates alike/);
  assert.throws(() => parseRungs("proxy=100,kl=16"), /write its rungs in ascending order/);
  assert.throws(() => parseRungs("kl=16,wikitext2.kl=8"), /counts windows of every text alike/);
});

Deno.test("--samples earlier asks for the rungs that an earlier study advises", () => {
  assert.deepEqual(parseRungs("earlier"), { ladder: "earlier" });
  assert.throws(() => parseRungs("earlier,proxy=100"), /RUNG=NUMBER/);
});

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

Deno.test("--samples names rungs in ascending order, for all tasks or for one", () => {
  assert.deepEqual(parseRungs("proxy=100, half=400,full=2000,mmlu.half=285,mmlu.full=900"), {
    proxy: 100,
    full: 2000,
    by_task: { mmlu: { full: 900 } },
    between: [{ fidelity: "half", samples: 400, by_task: { mmlu: 285 } }],
  });
  assert.deepEqual(parseRungs("few=10,most=50"), {
    between: [{ fidelity: "few", samples: 10 }, { fidelity: "most", samples: 50 }],
  });
  // A task may have a dot in its name.
  assert.deepEqual(parseRungs("a.b.half=7"), {
    between: [{ fidelity: "half", by_task: { "a.b": 7 } }],
  });
  for (const text of ["100", "half", "=5", "half=1=2", "mmlu.=5"]) {
    assert.throws(() => parseRungs(text), /as RUNG=NUMBER or TASK\.RUNG=NUMBER/, text);
  }
  assert.throws(() => parseRungs("half=x"), /--samples half as a whole.*"x"/);
  assert.throws(() => parseRungs("half=1,half=2"), /says a number twice/);
  for (const text of ["half=9,proxy=1", "full=9,half=3", "full=9,proxy=3"]) {
    assert.throws(() => parseRungs(text), /ascending order, proxy first and full last/, text);
  }
});

Deno.test("--samples stands beside a document's counts and --proxy-samples; its rungs make a ladder", () => {
  const needed = { model: "tiny", dataset: "tiny" };
  const study = studyFromOptions(
    { ...needed, samples: "half=40,full=90", proxySamples: "9", fidelity: "half" },
    { samples: { by_task: { mmlu: { full: 95 } } } },
  );
  assert.deepEqual(study.samples, {
    proxy: 9,
    full: 90,
    by_task: { mmlu: { full: 95 } },
    between: [{ fidelity: "half", samples: 40 }],
  });
  assert.equal(study.fidelity, "half");
  const asked = (samples: string, fidelity = "full") => () =>
    studyFromOptions({ ...needed, samples, fidelity });
  assert.throws(asked("half=40", "hlaf"), /Unknown fidelity "hlaf"\. Did you mean "half"/);
  assert.throws(asked("half=40,full=20"), /Cannot take 20 samples on the rung full as half/);
  assert.throws(asked("speed=40"), /"samples\.between\.0\.fidelity": "speed" is refused/);
  assert.throws(asked("Half=40"), /"Half" is refused \(must be at most 32 small letters/);
});
