import assert from "node:assert/strict";
import { type Protocolled, protocolMismatch, type SampleResult } from "../../core/mod.ts";

function samples(n: number): SampleResult[] {
  return Array.from({ length: n }, (_, i) => ({
    task: "gsm8k",
    sample_id: String(i),
    sample_hash: `gsm8k ${i}`,
    prompt_hash: "",
    score: 1,
    answer: null,
    gold: null,
    log_likelihood: null,
  }));
}

const PARTS = { task_version: "1", samples: "2 rows aa", decoding: "greedy", template: "t" };

function under(protocol: string, parts?: Record<string, string>, n = 2): Protocolled {
  return {
    samples: samples(n),
    protocol: { gsm8k: protocol },
    protocol_parts: parts === undefined ? undefined : { gsm8k: parts },
  };
}

Deno.test("protocolMismatch() names every part that differs, with both values", () => {
  assert.equal(protocolMismatch(under("a", PARTS), under("a", PARTS)), null);
  assert.equal(
    protocolMismatch(under("a", PARTS), under("b", { ...PARTS, decoding: "sampled", few: "5" })),
    "Cannot compare gsm8k with the baseline as the protocols differ: decoding is greedy in the " +
      "baseline and sampled in the trial; few is missing in the baseline and 5 in the trial",
  );
  assert.match(
    protocolMismatch(under("a", PARTS), under("b", { ...PARTS, samples: "3 rows bb" }))!,
    /samples is 2 rows aa in the baseline and 3 rows bb in the trial$/,
  );
});

Deno.test("where a side kept no parts, the hashes are named; where it kept none, samples decide", () => {
  const words = protocolMismatch(under("a", PARTS), under("b"));
  assert.match(words!, /the baseline's is a, the trial's b$/);
  const old = (n: number) => ({ ...under("", undefined, n), protocol: {} });
  assert.equal(protocolMismatch(old(2), under("b", PARTS)), null);
  assert.match(protocolMismatch(old(3), under("b", PARTS))!, /1 have no partner/);
});
