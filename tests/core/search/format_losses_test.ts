/** Quality as the scores of the original's layers foretell it. */
import assert from "node:assert/strict";
import {
  beforehand,
  foretoldLoss,
  type FormatLoss,
  type HeldPart,
  lossAt,
  type Measurement,
  type SearchState,
  studySearch,
  type Trial,
} from "../../../core/mod.ts";
import { baseline, context, recipe, trial } from "../../plugins/search_fixtures.ts";
import { methods } from "../spec_fixtures.ts";

const near = (found: number | null | undefined, wanted: number) =>
  assert.ok(Math.abs(found! - wanted) < 1e-9 * Math.max(1, wanted), `${found} against ${wanted}`);

const loss = (weight_bits: number, kl: number, part: FormatLoss["part"] = "linear") => ({
  ...{ study_id: "scored", part, format: `${weight_bits}-bit`, weight_bits, kl },
});
const SCORED = [loss(8.25, 0.001), loss(4.25, 0.1), loss(3.25, 0.4)];
const EMBEDDING = loss(4.25, 0.05, "embedding");

Deno.test("between two widths a loss lies on the straight line of its logarithm", () => {
  near(lossAt(SCORED, 4.25), 0.1);
  near(lossAt(SCORED, 3.75), Math.sqrt(0.1 * 0.4));
  near(lossAt(SCORED, 6.25), Math.sqrt(0.1 * 0.001));
});

Deno.test("beyond the widths that were scored it goes on as there, and floats lose nothing", () => {
  near(lossAt(SCORED, 2.25), 1.6);
  near(lossAt(SCORED, 10.25), 0.001 * Math.sqrt(0.001 / 0.1));
  assert.equal(lossAt(SCORED, 16), 0);
  assert.equal(lossAt([], 4), 0);
});

Deno.test("of one width alone, a bit fewer loses four times as much; of equal widths the least counts", () => {
  near(lossAt([loss(4, 0.1)], 3), 0.4);
  near(lossAt([loss(4, 0.1)], 5), 0.025);
  near(lossAt([...SCORED, loss(4.25, 0.3)], 4.25), 0.1);
  assert.ok(Number.isFinite(lossAt([loss(8, 0), loss(4, -0.01)], 3)), "a loss of nothing");
});

const { facts } = context();
const told = (actions: Trial["actions"], losses: readonly FormatLoss[], of = facts) =>
  foretoldLoss(actions, methods, of, losses);
const actionsOf = (...steps: Parameters<typeof recipe>) => trial(1, recipe(...steps)).actions;

Deno.test("a recipe loses what its parts do at the bits that it leaves them", () => {
  const eight = actionsOf(["round", { bits: 8 }]);
  const four = actionsOf(["round", { bits: 4 }]); // 4.25 bits with the scales of groups of 64
  near(told(eight, SCORED), 0.001);
  near(told(four, SCORED), 0.1);
  near(told(four, [...SCORED, EMBEDDING]), 0.1); // the embedding stays in floats
  assert.equal(told([], SCORED), 0);
  assert.equal(told(four, []), null);
  const bytes = { linear: facts.model.linear_parameters / 2, embedding: 1, rest: 1 };
  const rounded = { ...facts, model: { ...facts.model, weight_bytes: bytes } };
  assert.equal(told(four, SCORED, rounded), null, "an original that is rounded itself");
});

Deno.test("beforehand has the KL by the scores, and the roofline in milliseconds once the baseline is timed", () => {
  const four = actionsOf(["round", { bits: 4 }]);
  const reading = methods.map((one) => ({
    ...one,
    reads: ({ stored_bytes }: HeldPart) => stored_bytes,
  }));
  const known = { roofline_ms: 10, format_losses: SCORED };
  const found = beforehand(four, reading, facts, known);
  near(found.kl, 0.1);
  near(found.roofline_ms, 10 * found.read_ratio!);
  const untimed = beforehand(four, reading, facts, { roofline_ms: null, format_losses: [] });
  assert.deepEqual([untimed.roofline_ms, untimed.kl], [null, null]);
  const untold = beforehand(four, methods, facts, known);
  assert.deepEqual([untold.read_ratio, untold.roofline_ms], [null, null]);
});

function row(metric: string, value: number): Measurement {
  return {
    ...{ metric, value, unit: "1", direction: "minimize", n: 100, standard_error: 0.01 },
    ...{ fidelity: "full", provenance: "measured", task: null, task_version: null, slice: null },
    ...{ runtime: null, numerics: null, device: null, method: "" },
  };
}

/** What is expected of 4 and 3 bits, by the trials so far. */
function expected(metric: string, base: number, trials: Trial[], losses = SCORED) {
  const spec = {
    ...context().spec,
    objectives: [
      { metric, direction: "minimize" as const, unit: "1" },
      { metric: "size_bytes", direction: "minimize" as const, unit: "bytes" },
    ],
  };
  const first = { ...baseline, measurements: [row(metric, base), row("size_bytes", 9)] };
  const state: SearchState = studySearch(
    context({ spec, trials: [first, ...trials], format_losses: losses }),
  ).state;
  return [4, 3].map((bits) => {
    const own = studySearch(
      context({ spec, trials: [trial(9, recipe(["round", { bits }]))], format_losses: losses }),
    ).state.seen[0]!.point;
    return state.expected?.(own)[0] ?? null;
  });
}

const measured = (number: number, bits: number, metric: string, value: number) =>
  trial(number, recipe(["round", { bits }]), {
    measurements: [row(metric, value), row("size_bytes", 5)],
  });

Deno.test("KL, perplexity and flips are expected by the scores, by the share that came true so far", () => {
  const at = (metric: string, base: number, trials: Trial[] = []) => expected(metric, base, trials);
  const [four, three] = at("kl", 0);
  near(four, 0.1);
  near(three, 0.4);
  // What was measured at 4 bits is half of what was told.
  near(at("kl", 0, [measured(1, 4, "kl", 0.05)])[1], 0.2);
  near(at("perplexity", 20)[0], 20 * Math.exp(0.1));
  near(
    at("perplexity", 20, [measured(1, 4, "perplexity", 20 * Math.exp(0.2))])[1],
    20 * Math.exp(0.8),
  );
  near(at("flips", 0)[0], Math.sqrt(0.1));
  assert.deepEqual(expected("kl", 0, [], []), [null, null], "nobody scored the layers");
});

Deno.test("a trial that lost far more than rounding takes does not lead what is expected astray", () => {
  const trials = [
    measured(1, 4, "kl", 0.08),
    measured(2, 3, "kl", 0.32),
    measured(3, 8, "kl", 5),
  ];
  near(expected("kl", 0, trials)[0], 0.08);
  near(expected("kl", 0, trials.slice(2))[0], 0.2); // at most twice what was told
});
