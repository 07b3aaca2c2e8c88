import assert from "node:assert/strict";
import {
  askedWindows,
  boundedMethods,
  dataNeed,
  integer,
  kindOf,
  knobGrid,
  knobNeighbours,
  type Knobs,
  randomKnobValue,
  resolveAction,
  streamRandom,
  type StudyRequestInput,
} from "../../core/mod.ts";
import { request, round, smallFacts } from "./spec_fixtures.ts";

const facts = smallFacts();
const options = { minimum: 1, log: true, unit: "calibration", description: "What is used" };
const knobs: Knobs = {
  samples: integer({ ...options, maximum: 512, default: 16, takes: "windows" }),
  seqlen: integer({ ...options, minimum: 16, maximum: 4096, default: 256, takes: "tokens" }),
  iters: integer({ ...options, maximum: 1000, default: 8 }),
};
const needs = { environment: "default", gpu: false };
const methodOf = (data: "calibration" | "training") => ({
  agent: "shrinking",
  method: { ...round, name: "tuned", knobs, needs: { ...needs, data } },
});
const tuning = methodOf("calibration");
const there = { calibration: { windows: 32, tokens: 128 }, training: { windows: 9, tokens: 64 } };
const [bounded] = boundedMethods([tuning], there);
const action = (params: Record<string, number>) => ({
  agent: "shrinking",
  method: "tuned",
  params,
});

Deno.test("a value beyond the calibration data is refused with how much there is", () => {
  const resolve = (params: Record<string, number>) =>
    resolveAction(action(params), [bounded!], facts);
  assert.throws(
    () => resolve({ samples: 98 }),
    /samples = 98 as samples is a whole number from 1 to 32, as .* 32 windows of 128 tokens/,
  );
  assert.throws(() => resolve({ seqlen: 129 }), /seqlen is a whole number from 16 to 128, as/);
  assert.equal(resolve({ samples: 32, iters: 1000 }).params["samples"], 32);
});

Deno.test("a default beyond the calibration data is what there is, and says so", () => {
  const { params, resolved } = resolveAction(action({}), [bounded!], facts);
  assert.deepEqual([params["samples"], params["seqlen"], params["iters"]], [16, 128, 8]);
  const [samples, seqlen] = resolved;
  assert.equal(samples?.reason, null);
  assert.equal(seqlen?.by, "default");
  assert.match(seqlen?.reason ?? "", /gives 32 windows of 128 tokens/);
});

Deno.test("no search goes beyond the calibration data: two recipes differ in what they use", () => {
  const random = streamRandom(3, "calibration");
  const { samples, seqlen } = bounded!.method.knobs;
  for (let draw = 0; draw < 300; draw++) {
    assert.ok(Number(randomKnobValue(samples!, random)) <= 32);
    assert.ok(Number(randomKnobValue(seqlen!, random)) <= 128);
  }
  assert.deepEqual(knobNeighbours(samples!, 32), [16]);
  assert.ok(knobGrid(seqlen!).every((value) => Number(value) <= 128));
});

Deno.test("a method that trains is bounded by the training text, one without text by nothing", () => {
  const [trained] = boundedMethods([methodOf("training")], there);
  assert.equal(trained!.method.knobs["samples"]?.maximum, 9);
  assert.match(trained!.method.knobs["seqlen"]?.bound ?? "", /training text gives 9 windows of 64/);
  const [free] = boundedMethods(
    [{ agent: "shrinking", method: { ...round, knobs, needs } }],
    there,
  );
  assert.equal(free!.method.knobs["samples"]?.maximum, 512);
});

Deno.test("what an action needs of the text follows from its knobs", () => {
  const params = { samples: 4, seqlen: 32, iters: 8 };
  assert.deepEqual(dataNeed(tuning.method, params), {
    kind: "calibration",
    windows: 4,
    tokens: 32,
  });
  const { samples: _, ...others } = knobs;
  const every = { ...methodOf("training").method, knobs: others };
  assert.deepEqual(dataNeed(every, params), { kind: "training", windows: null, tokens: 32 });
  assert.equal(dataNeed({ ...round, needs }, params), null);
});

Deno.test("a strategy of the request gets the windows that it asks for, of its method's kind", () => {
  const usual = { calibration: { windows: 32, tokens: 256 }, training: { windows: 8, tokens: 64 } };
  const asked = (kind: "calibration" | "training", ...params: Record<string, number>[]) =>
    askedWindows(
      request({ strategies: params.map((one) => ({ actions: [action(one)] })) }),
      [],
      [methodOf(kind)],
      usual,
    );
  assert.deepEqual(asked("calibration", {}), usual);
  assert.deepEqual(asked("calibration", { samples: 98 }, { samples: 40, seqlen: 512 }), {
    ...usual,
    calibration: { windows: 98, tokens: 512 },
  });
  assert.deepEqual(asked("training", { samples: 98 }), {
    ...usual,
    training: { windows: 98, tokens: 64 },
  });
  assert.deepEqual(asked("calibration", { samples: 9999 }), usual, "refused elsewhere");
});

Deno.test("a stage gets the windows that it and its adjustments ask for", () => {
  const usual = { calibration: { windows: 32, tokens: 256 }, training: { windows: 8, tokens: 64 } };
  const asked = (params: Record<string, number>, adjustments: object[] = [], attempts = 2) => {
    const stages = {
      stages: [{ name: "one", actions: [action(params)], adjustments, attempts }],
      core: ["words"],
    };
    const staged = request({ stages } as Partial<StudyRequestInput>);
    const planned = kindOf(staged).actions(staged);
    return askedWindows(staged, planned, [methodOf("calibration")], usual).calibration.windows;
  };
  assert.equal(asked({ samples: 64 }), 64);
  assert.equal(asked({ samples: 30 }), 32);
  assert.equal(asked({ samples: 30 }, [{ scale: { samples: 1.5 } }]), 45);
  assert.equal(asked({ samples: 30 }, [{ scale: { samples: 1.5 } }], 3), 68, "45, then 67.5");
  assert.equal(asked({ samples: 30 }, [{ set: { samples: 100 } }]), 100);
  assert.equal(asked({ samples: 30 }, [{ scale: { samples: 1.5 } }], 1), 32, "it is never tried");
  assert.equal(asked({}, [{ scale: { samples: 4 } }]), 64, "of the default of 16");
  assert.equal(asked({ samples: 400 }, [{ scale: { samples: 4 } }]), 512, "the knob's most");
});

Deno.test("resolveAction() says who gave a value: user, seed, sampler, method or default", () => {
  const by = (mode: "user" | "seed" | "exploit" | "explore") =>
    resolveAction(action({ samples: 4 }), [bounded!], facts, mode).resolved.map((one) => one.by);
  assert.deepEqual(by("user"), ["user", "default", "default"]);
  assert.deepEqual(by("seed"), ["seed", "default", "default"]);
  assert.deepEqual(by("exploit"), by("explore"));
  assert.deepEqual(by("explore"), ["sampler", "default", "default"]);
});

Deno.test("a default that does not suit what an action meets gives way to the method's own choice", () => {
  const method = {
    ...round,
    accepts: (params: Record<string, unknown>) =>
      params["group_size"] === 32
        ? { ok: true as const }
        : { ok: false as const, reason: "only groups of 32 divide these rows" },
    auto: () => ({ group_size: { value: 32, reason: "what divides every row" } }),
  };
  const resolve = (params: Record<string, number>, own = method) =>
    resolveAction(
      { agent: "shrinking", method: round.name, params },
      [{ agent: "shrinking", method: own }],
      facts,
    );
  const { params, resolved } = resolve({});
  assert.equal(params["group_size"], 32);
  const knob = resolved.find((one) => one.knob === "group_size");
  assert.deepEqual([knob?.by, knob?.reason], ["method", "what divides every row"]);
  assert.equal(resolve({ group_size: 64 }).params["group_size"], 64, "what is said is kept");
  const suits = { ...method, accepts: () => ({ ok: true as const }) };
  assert.notEqual(resolve({}, suits).params["group_size"], 32, "a default that suits is kept");
});
