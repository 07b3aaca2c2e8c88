import assert from "node:assert/strict";
import { arrivals, type LoadRequest, seededRandom, summarize } from "../../../core/mod.ts";

const NO_LIMITS = { first_token_ms: null, between_tokens_ms: null };

function request(number: number, more: Partial<LoadRequest> = {}): LoadRequest {
  return {
    ...{ number, phase: "measured", sent_seconds: number, late_ms: 0, error: null },
    ...{ first_token_ms: 100 * (number + 1), between_tokens_ms: 10, latency_ms: 500 },
    ...{ prompt_tokens: 8, output_tokens: 20 },
    ...more,
  };
}

Deno.test("a step's figures are over the requests that count, by hand", () => {
  const warming = request(99, { phase: "warming", sent_seconds: 0, first_token_ms: 9_000 });
  const failed = request(4, { error: "500", first_token_ms: null, latency_ms: null });
  const all = [warming, ...[0, 1, 2, 3].map((number) => request(number)), failed];
  const found = summarize(all, { first_token_ms: 250, between_tokens_ms: null });
  assert.deepEqual([found.requests, found.failed], [5, 1]);
  assert.equal(found.seconds, 4, "from the first sent to the last moment");
  assert.equal(found.requests_per_second, 1);
  assert.equal(found.output_tokens_per_second, 20);
  assert.equal(found.goodput, 0.5, "two of four kept to 250 ms");
  assert.deepEqual(found.first_token, {
    ...{ mean: 250, p50: 250, p90: 370, p95: 385, p99: 397 },
  });
  assert.equal(summarize(all, { ...NO_LIMITS, between_tokens_ms: 9 }).goodput, 0);
  assert.equal(summarize(all, NO_LIMITS).goodput, null);
  const [empty, single] = [{ first_token_ms: null }, {}].map((more, number) =>
    request(number, { between_tokens_ms: null, output_tokens: number, ...more })
  );
  const bare = summarize([empty!, single!], { first_token_ms: 900, between_tokens_ms: 9 });
  assert.equal(bare.goodput, bare.requests_per_second / 2, "no token is no first token in time");
  const none = summarize([warming], NO_LIMITS);
  assert.deepEqual([none.requests, none.requests_per_second, none.latency.p50], [0, 0, null]);
});

Deno.test("arrivals keep their rate: evenly, or as a Poisson process of its own spread", () => {
  assert.deepEqual(arrivals(4, 4, "constant", seededRandom(1)), [0, 0.25, 0.5, 0.75]);
  const due = arrivals(5, 20_001, "poisson", seededRandom(1));
  const gaps = due.slice(1).map((at, index) => at - due[index]!);
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
  assert.ok(Math.abs(mean - 0.2) < 0.005, `${mean}`);
  assert.ok(Math.abs(Math.sqrt(variance) - 0.2) < 0.01, "an exponential's spread is its mean");
  assert.deepEqual(due, arrivals(5, 20_001, "poisson", seededRandom(1)), "the seed decides");
});
