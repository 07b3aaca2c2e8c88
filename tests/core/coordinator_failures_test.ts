import assert from "node:assert/strict";
import { type Alone, runStudy } from "../../core/mod.ts";
import { failure, inOrder, named, RECIPES, run, world } from "./study_world.ts";

Deno.test("a quality that falls too far on the proxy ends the trial before speed and full", async () => {
  const w = world();
  const { trials, front } = await run(w);
  const poor = named(trials, "2bit");
  assert.equal(poor.state, "stopped");
  assert.equal(poor.fidelity, "proxy");
  assert.equal(poor.gates.at(-1)!.decision, "abort");
  assert.ok(poor.gates.at(-1)!.value! > 0.05);
  assert.ok(poor.reward!.value < -5);
  assert.ok(!front.includes(poor.trial_id));
  const calls = w.calls.filter(({ trial_id }) => trial_id === poor.trial_id);
  assert.deepEqual(calls.map(({ call, fidelity }) => [call, fidelity]), [
    ["apply", null],
    ["evaluate", "proxy"],
  ]);
});

Deno.test("a strategy that cannot run is an invalid trial with its reason, before any work", async () => {
  const strategies = [
    { actions: [{ agent: "shrinking", method: "gpu_only", params: {} }] },
    { actions: [{ agent: "shrinking", method: "round", params: { group_size: 128 } }] },
  ];
  const w = world({ strategies, max_trials: 1 });
  const { trials } = await run(w);
  const [gpu, group] = [trials[1]!, trials[2]!];
  assert.equal(gpu.state, "invalid");
  assert.match(gpu.failure!.message, /needs a GPU/);
  assert.match(group.failure!.message, /groups of 128 do not divide/);
  assert.ok(!w.calls.some(({ trial_id }) => [gpu, group].some((t) => t.trial_id === trial_id)));
  const episode = w.records.find((one) => one.type === "episode_closed");
  assert.match(episode!.episode.refused[0]!.reason, /needs a GPU/);
  assert.equal(trials.filter(({ state }) => state === "completed").length, 2, "the study goes on");
});

Deno.test("a user's unknown method throws before anything is written", async () => {
  const strategies = [{ actions: [{ agent: "shrinking", method: "rond", params: {} }] }];
  const w = world({ strategies });
  await assert.rejects(run(w), /Did you mean "round"/);
  assert.deepEqual(w.records, []);
});

Deno.test("a failing apply costs its trial and not the study", async () => {
  const w = world({}, {
    disturb: ({ call, recipe }) =>
      call === "apply" && recipe.startsWith("tune") ? failure("not_a_number") : null,
  });
  const { trials, stop } = await run(w);
  const tune = named(trials, "tune");
  assert.equal(tune.state, "failed");
  assert.equal(tune.failure!.kind, "not_a_number");
  assert.equal(tune.failure!.phase, "apply");
  assert.equal(tune.reward, null);
  assert.equal(stop, "exhausted");
});

Deno.test("a task that fails costs its trial; the figures of the others are kept", async () => {
  const w = world();
  const { evaluate } = w.backend;
  // The world's own answer, without the task that a 4-bit model cannot do.
  w.backend.evaluate = async (trial_id, artifact, fidelity) => {
    const outcome = await evaluate(trial_id, artifact, fidelity);
    if (!outcome.ok || artifact.weight_bits !== 4) return outcome;
    const { measurements, protocol } = outcome.value;
    const message = "Cannot score request 3 of words_text: the model's logits are not finite";
    return {
      ...outcome,
      value: {
        ...outcome.value,
        measurements: measurements.filter(({ task }) => task === "words"),
        protocol: { words: protocol["words"]! },
        refused: [{ task: "words_text", kind: "not_a_number", message, hint: "more bits" }],
      },
    };
  };
  const { trials, stop } = await run(w);
  const broken = trials.filter(({ failure }) => failure?.message.includes("words_text"));
  assert.ok(broken.length > 0);
  for (const trial of broken) {
    assert.equal(trial.state, "failed");
    assert.equal(trial.failure!.kind, "not_a_number");
    assert.match(trial.failure!.message, /^Cannot evaluate 1 of 2 tasks \(words_text\): Cannot sc/);
    const kept = trial.measurements.filter(({ metric }) => metric === "accuracy");
    assert.deepEqual(kept.map(({ task }) => task), ["words"], "and no mean over all tasks");
    assert.equal(trial.reward, null);
    const alert = w.records.find((one) =>
      one.type === "alert" && one.trial_id === trial.trial_id && one.condition === "task_refused"
    );
    assert.ok(alert !== undefined, "an alert says which task");
  }
  assert.equal(stop, "exhausted");
  assert.ok(trials.some(({ state, strategy }) => state === "completed" && strategy !== null));
});

Deno.test("running out of memory makes a trial invalid under its own name", async () => {
  const w = world({}, {
    disturb: ({ call, recipe }) =>
      call === "apply" && recipe.startsWith("octet") ? failure("out_of_memory") : null,
  });
  const { trials } = await run(w);
  const octet = named(trials, "octet");
  assert.equal(octet.state, "invalid");
  assert.equal(octet.failure!.kind, "out_of_memory");
});

Deno.test("a crash is tried once more at once, and the gate says so", async () => {
  let crashes = 0;
  const w = world({ max_trials: 1 }, {
    disturb: ({ call }) => call === "apply" && crashes++ === 0 ? failure("crash") : null,
  });
  const { trials } = await run(w);
  assert.equal(trials[1]!.state, "completed");
  assert.deepEqual(
    trials[1]!.gates.map(({ gate, decision }) => `${gate} ${decision}`)[0],
    "apply retry",
  );
});

Deno.test("a backend that throws is a crash, not the end of the loop", async () => {
  const w = world({ max_trials: 1 });
  const broken = {
    ...w.backend,
    speed: (id: string, artifact: never, baseline: never, runtime: string, alone: Alone) =>
      baseline === null
        ? w.backend.speed(id, artifact, baseline, runtime, alone)
        : Promise.reject(new Error("lost")),
  };
  const { trials } = await runStudy(w.input(), { ...w.ports, backend: broken });
  assert.equal(trials[1]!.state, "failed");
  assert.match(trials[1]!.failure!.message, /lost/);
});

Deno.test("a file that does not resemble its source fails verification", async () => {
  const { trials, front } = await run(world({ max_trials: 1 }, { cosine: 0.01 }));
  assert.equal(trials[1]!.state, "failed");
  assert.equal(trials[1]!.failure!.kind, "verification");
  assert.deepEqual(front, ["study/t00"]);
});

Deno.test("a model over the memory limit is invalid, keeps its figures, and is never on the front", async () => {
  const asked = { constraints: { max_vram_gb: 0.3 } };
  const w = world(asked, { memory: (bytes) => bytes > 130e6 ? 0.4e9 : 0.2e9 });
  const { trials, front } = await run(w);
  const heavy = named(trials, "round-8bit-g64");
  assert.equal(heavy.state, "invalid");
  assert.match(heavy.failure!.message, /must not exceed 0.3 GB: it took 0.40 GB/);
  assert.ok(heavy.measurements.some(({ metric }) => metric === "memory_bytes"));
  assert.ok(!front.includes(heavy.trial_id));
  assert.ok(front.includes(named(trials, "round-3bit-g64").trial_id));
});

Deno.test("a violated accuracy constraint is drawn and penalised, and never recommended", async () => {
  // Within the proxy's gate, beyond the threshold for sure: every recipe loses 1 answer in 16.
  const w = world({ max_trials: 3 }, {
    samples: { proxy: 200, full: 4000 },
    loss: (bits) => bits === 16 ? 0 : 0.06,
  });
  const { trials, recommendation, front } = await run(w);
  const full = trials.slice(1).filter(({ fidelity }) => fidelity === "full");
  assert.ok(full.length > 0);
  for (const trial of full) {
    assert.equal(trial.constraints[0]!.verdict, "violated");
    assert.ok(trial.reward!.terms.some(({ term, weight }) => term === "penalty" && weight === 10));
  }
  assert.ok(full.some((trial) => front.includes(trial.trial_id)), "drawn all the same");
  assert.equal(recommendation!.trial_id, "study/t00");
  assert.equal(recommendation!.keep_original, true);
  assert.match(recommendation!.reasons.join(" "), /Keep the original/);
});

Deno.test("figures of another protocol are refused, not compared", async () => {
  const w = world({ max_trials: 1 }, {
    protocol: ({ recipe, fidelity }) => `${fidelity}-${recipe === "base" ? 1 : 2}`,
  });
  const { trials, front } = await run(w);
  assert.equal(trials[1]!.state, "failed");
  assert.match(trials[1]!.failure!.message, /protocols differ.*proxy-1.*proxy-2/);
  assert.deepEqual(front, ["study/t00"]);
});

Deno.test("a baseline that cannot be measured ends the study as failed", async () => {
  const w = world({}, { disturb: ({ call }) => call === "speed" ? failure("stall") : null });
  const { stop, message, trials, recommendation } = await run(w);
  assert.equal(stop, "failed");
  assert.match(message, /baseline could not be measured: the world says stall/);
  assert.equal(trials.length, 1);
  assert.equal(recommendation, null);
});

Deno.test("a sampler that fails or repeats itself is refused in words and passed over", async () => {
  const stubborn = {
    ...inOrder,
    name: "stubborn",
    propose: () => ({
      actions: [RECIPES[0]!],
      origin: { mode: "exploit" as const, reason: "always the same" },
    }),
  };
  const broken = {
    ...inOrder,
    name: "broken",
    propose: () => {
      throw new Error("no idea");
    },
  };
  const w = world();
  const { stop } = await run(w, { samplers: [broken, stubborn] });
  assert.equal(stop, "exhausted");
  const refused = w.records.flatMap((one) =>
    one.type === "episode_closed" ? one.episode.refused.map(({ reason }) => reason) : []
  );
  assert.ok(refused.some((reason) => /no idea/.test(reason)));
  assert.ok(refused.some((reason) => /has been run/.test(reason)));
});

Deno.test("a recipe that the machine failed may be proposed a second time, not a third", async () => {
  const again = {
    ...inOrder,
    propose: () => ({
      actions: [RECIPES[0]!],
      origin: { mode: "exploit" as const, reason: "once more" },
    }),
  };
  const w = world({}, {
    disturb: ({ call, recipe }) =>
      call === "apply" && recipe.includes('"bits":3') ? failure("stall") : null,
  });
  const { trials, stop } = await run(w, { samplers: [again] });
  assert.deepEqual(trials.slice(-2).map(({ failure }) => failure?.kind), ["stall", "stall"]);
  assert.equal(trials.filter(({ state }) => state === "failed").length, 2);
  assert.equal(stop, "exhausted");
});
