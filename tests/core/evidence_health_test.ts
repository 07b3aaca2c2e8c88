import assert from "node:assert/strict";
import {
  type Evaluation,
  healthFindings,
  type Measurement,
  type SampleResult,
} from "../../core/mod.ts";
import { failure, figure, named, run, world } from "./study_world.ts";

const spec = world().input().spec;

function sample(i: number, score: number, more: Partial<SampleResult> = {}): SampleResult {
  return {
    task: "words",
    sample_id: String(i),
    sample_hash: `words ${i}`,
    prompt_hash: "",
    score,
    answer: `answer ${i}`,
    gold: `gold ${i}`,
    log_likelihood: null,
    ...more,
  };
}

function evaluation(samples: SampleResult[], more: Partial<Measurement> = {}): Evaluation {
  const value = samples.reduce((sum, { score }) => sum + score, 0) / samples.length;
  const row: Measurement = {
    ...figure("accuracy", value, null, 0.01),
    direction: "maximize",
    fidelity: "proxy",
    n: samples.length,
    task: "words",
    ...more,
  };
  return { measurements: [row], samples, protocol: {} };
}

/** Of n samples the first are right. */
function answers(
  n: number,
  right: number,
  more: (i: number) => Partial<SampleResult> = () => ({}),
) {
  return evaluation(
    Array.from({ length: n }, (_, i) => sample(i, i < right ? 1 : 0, more(i))),
  );
}

function found(own: Evaluation, baseline: Evaluation | null): Record<string, string> {
  const metric = own.measurements[0]!.metric;
  const asked = { ...spec, tasks: spec.tasks.map((plan) => ({ ...plan, metric })) };
  return Object.fromEntries(
    healthFindings(asked, own, baseline).map(({ condition, evidence }) => [condition, evidence]),
  );
}

Deno.test("healthFindings() finds nothing in a sound evaluation", () => {
  assert.deepEqual(found(answers(100, 60), null), {});
  assert.deepEqual(found(answers(100, 55), answers(100, 60)), {});
  assert.deepEqual(found(answers(100, 63), answers(100, 60)), {}, "a little better is chance");
});

Deno.test("a score of exactly 0 is told of with the baseline's, but not where that is 0 too", () => {
  const zero = found(answers(50, 0), answers(50, 30));
  assert.deepEqual(Object.keys(zero), ["score_of_zero"]);
  assert.equal(
    zero["score_of_zero"],
    "words, proxy: accuracy is exactly 0 on 50 samples, the baseline's is 0.6000; " +
      "sample ids 0, 1, 2, 3, 4, …",
  );
  assert.ok("score_of_zero" in found(answers(50, 0), null), "a baseline of 0 is a broken rule");
  assert.deepEqual(found(answers(50, 0), answers(50, 0)), {});
  const text = evaluation([sample(0, 0), sample(1, 0)], { direction: "minimize" });
  assert.deepEqual(found(text, null), {}, "a loss of 0 is no score of 0");
});

Deno.test("a score of 0 names what most often makes it", () => {
  const zero = (more: Partial<SampleResult>, prompting?: string) => {
    const own = answers(20, 0, () => more);
    const protocol_parts = { words: prompting === undefined ? {} : { prompting } };
    return found({ ...own, protocol_parts }, null)["score_of_zero"]!.split("; a likely cause: ")[1];
  };
  assert.equal(zero({ answer: "" }), "every answer is empty");
  assert.match(zero({ cut_tokens: 9 })!, /^every prompt is longer than the model reads/);
  assert.match(zero({ parsed_answer: "x" }, "chat template 0ab1")!, /^the chat template/);
  assert.equal(zero({ parsed_answer: null }), "no answer has the form that is looked for");
  assert.equal(zero({ parsed_answer: "wrong" }), undefined);
});

Deno.test("a baseline that is not told from guessing says that its task decides nothing", () => {
  const more = { chance: 0.1, standard_error: 0.05 };
  const own = evaluation(Array.from({ length: 20 }, (_, i) => sample(i, i < 3 ? 1 : 0)), more);
  assert.equal(
    found(own, null)["not_above_guessing"],
    "words, proxy: accuracy is 0.1500 (standard error 0.0500) on 20 samples, guessing gives " +
      "0.1000: differences on this task decide nothing",
  );
  assert.ok(!("not_above_guessing" in found(own, own)), "it is said of the baseline alone");
  assert.deepEqual(found(evaluation(own.samples, { ...more, standard_error: 0.01 }), null), {});
  assert.deepEqual(found(evaluation(own.samples, { ...more, chance: null }), null), {});
});

Deno.test("too good is a paired 95 % interval wholly beyond the margin", () => {
  const evidence = found(answers(100, 90), answers(100, 60))["score_too_good"];
  // Bonett and Price: gained 31/102, lost 1/102; 0.294 − 1.96·√(0.3137 − 0.0865)/√102 = 0.2016.
  assert.match(evidence!, /is 0\.9000, the baseline's 0\.6000; over 100 paired samples/);
  assert.match(evidence!, /better by at least 0\.202 \(95 %\), more than 0\.05; 30 samples gained/);
  assert.match(evidence!, /sample ids 60, 61, 62, 63, 64, …/);
  assert.equal(found(answers(100, 72), answers(100, 60))["score_too_good"], undefined);
  const losses = (shift: number) =>
    evaluation(Array.from({ length: 40 }, (_, i) => sample(i, 2 + (i % 7) / 10 - shift)), {
      metric: "perplexity",
      direction: "minimize",
    });
  assert.ok("score_too_good" in found(losses(0.2), losses(0)), "perplexity is better when smaller");
  assert.deepEqual(found(losses(-0.2), losses(0)), {});
});

Deno.test("empty answers count where they are a tenth of those written", () => {
  const some = (empty: number) => answers(50, 20, (i) => i < empty ? { answer: " \n" } : {});
  assert.equal(found(some(4), null)["empty_answers"], undefined);
  assert.equal(
    found(some(5), null)["empty_answers"],
    "words, proxy: 5 of 50 answers (10 %) are empty; sample ids 0, 1, 2, 3, 4",
  );
  const blank = answers(50, 20, () => ({ answer: " ", answer_length: 7 }));
  assert.ok("empty_answers" in found(blank, null), "white space, whatever its length");
  const unstored = (answer_length: number) =>
    found(answers(50, 20, () => ({ answer: null, answer_length })), null);
  assert.deepEqual(unstored(7), {}, "answers that are not stored are not empty");
  assert.ok("empty_answers" in unstored(0));
  const words = answers(50, 20, () => ({ answer: null, log_likelihood: -3 }));
  assert.deepEqual(found(words, null), {}, "a word that was not predicted is no empty answer");
});

Deno.test("one answer for all is told of, in words or by number, unless it is right", () => {
  const same = answers(20, 5, () => ({ answer: "42" }));
  assert.match(found(same, null)["one_answer_for_all"]!, /all 20 answers are "42".*20 different/);
  const first = answers(20, 5, (i) => ({ chosen: 0, answer: `choice ${i}`, log_likelihood: -1 }));
  assert.match(found(first, null)["one_answer_for_all"]!, /all 20 answers are choice 0/);
  const mixed = answers(20, 5, (i) => ({ chosen: i % 2, log_likelihood: -1 }));
  assert.deepEqual(found(mixed, null), {});
  assert.deepEqual(found(answers(20, 20, () => ({ answer: "yes", gold: "yes" })), null), {});
  assert.deepEqual(found(answers(9, 5, () => ({ answer: "42" })), null), {}, "too few to say");
});

Deno.test("inputs that were cut are counted with the most that one lost", () => {
  const cut = answers(20, 5, (i) => ({ cut_tokens: i < 3 ? 10 * (i + 1) : 0 }));
  assert.equal(
    found(cut, null)["input_truncated"],
    "words, proxy: 3 of 20 inputs are longer than the model reads and lost up to 30 tokens; " +
      "sample ids 0, 1, 2",
  );
});

Deno.test("a score that is no number is told of with its samples", () => {
  const broken = answers(20, 5, (i) => i === 7 ? { score: NaN } : {});
  const evidence = found(broken, answers(20, 5))["not_a_number"];
  assert.match(evidence!, /accuracy is NaN, 1 of 20 samples have no finite score; sample ids 7/);
});

Deno.test("a study records findings as alerts of their trial, with what became of it", async () => {
  const w = world({ max_trials: 3 }, { loss: (bits) => bits === 4 ? 1 : 0 });
  const { trials } = await run(w);
  const alerts = w.records.filter((one) => one.type === "alert");
  const wrong = alerts.filter(({ condition }) => condition === "score_of_zero");
  assert.ok(wrong.length > 0);
  for (const { trial_id, action, outcome, evidence } of wrong) {
    const trial = trials.find((one) => one.trial_id === trial_id)!;
    assert.equal(trial.actions[0]!.params["bits"], 4);
    assert.deepEqual([action, outcome], ["recorded", "the trial went on"]);
    assert.match(evidence, /words, proxy: accuracy is exactly 0 on 100 samples/);
  }
  assert.ok(!alerts.some(({ trial_id }) => trial_id === trials[0]!.trial_id));
});

Deno.test("an evaluation that ends as its numbers are none leaves an alert, not only a failure", async () => {
  const w = world({}, {
    disturb: ({ call, recipe }) =>
      call === "evaluate" && recipe.startsWith("octet") ? failure("not_a_number") : null,
  });
  const { trials } = await run(w);
  const alerts = w.records.filter((one) => one.type === "alert");
  assert.equal(alerts.length, 1);
  assert.equal(alerts[0]!.trial_id, named(trials, "octet").trial_id);
  assert.equal(alerts[0]!.condition, "not_a_number");
  assert.equal(
    alerts[0]!.outcome,
    "the trial ended: not_a_number; nothing is added to such numbers, which would hide their cause",
  );
});
