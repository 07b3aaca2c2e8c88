/** Optuna itself, asked through the worker. Its pins are those of readers_duckdb1, which tests have. */
import assert from "node:assert/strict";
import type { SuggestRequest } from "../../core/mod.ts";
import { type BackendClient, createBackendClient } from "../../python-backends/client.ts";
import { readPins } from "../../python-backends/environments/environment_pins.ts";

const dimension = (
  name: string,
  more: Partial<SuggestRequest["dimensions"][number]>,
): SuggestRequest["dimensions"][number] => ({
  ...{ name, kind: "real", minimum: null, maximum: null, log: false, choices: null, when: null },
  ...more,
});

const DIMENSIONS = [
  dimension("method", { kind: "choice", choices: ["none", "round"] }),
  dimension("bits", {
    kind: "ordinal",
    choices: [2, 3, 4, 8],
    when: { name: "method", values: ["round"] },
  }),
  dimension("clip", {
    kind: "choice",
    choices: [false, true],
    when: { name: "bits", values: [4, 8] },
  }),
  dimension("rank", { kind: "integer", minimum: 4, maximum: 64, log: true }),
  dimension("share", { minimum: 0.1, maximum: 0.6 }),
];

/** Two objectives that pull apart: the share, and how far the rank is from 8. */
const seen = (n: number, more: Partial<SuggestRequest["seen"][number]> = {}) =>
  Array.from({ length: n }, (_, i): SuggestRequest["seen"][number] => {
    const share = 0.1 + 0.5 * ((i * 7) % n) / n;
    const rank = 4 + (i * 11) % 61;
    return {
      point: {
        method: "round",
        bits: [2, 3, 4, 8][i % 4]!,
        ...(i % 4 > 1 ? { clip: i % 3 === 0 } : {}),
        rank,
        share,
      },
      state: "done",
      values: [share, Math.abs(Math.log(rank / 8))],
      violations: null,
      ...more,
    };
  });

async function asking(
  client: BackendClient,
  more: Partial<SuggestRequest> = {},
) {
  const request: SuggestRequest = {
    seed: 7,
    directions: ["minimize", "minimize"],
    dimensions: DIMENSIONS,
    seen: [],
    count: 12,
    ...more,
  };
  const outcome = await client.run({ call: "suggest", ...request }, {
    environment: "readers_duckdb1",
  });
  assert.ok(outcome.ok, outcome.ok ? "" : outcome.failure.message);
  return outcome.value.points;
}

Deno.test("Optuna proposes points of the space, the same for the same request, and learns from what it is told", async () => {
  const client = createBackendClient();
  try {
    const first = await asking(client);
    assert.equal(first.length, 12);
    for (const point of first) {
      assert.equal("bits" in point, point["method"] === "round");
      assert.equal("clip" in point, [4, 8].includes(Number(point["bits"])));
      const { rank, share } = point;
      assert.ok(Number.isInteger(rank) && Number(rank) >= 4 && Number(rank) <= 64);
      assert.ok(Number(share) >= 0.1 && Number(share) <= 0.6);
      if ("bits" in point) assert.ok([2, 3, 4, 8].includes(Number(point["bits"])));
      if ("clip" in point) assert.equal(typeof point["clip"], "boolean");
    }
    assert.ok(new Set(first.map((one) => JSON.stringify(one))).size > 8);
    assert.deepEqual(await asking(client), first);
    assert.notDeepEqual(await asking(client, { seed: 8 }), first);
    const mean = (points: typeof first) =>
      points.reduce((sum, { share }) => sum + Number(share), 0) / points.length;
    const told = await asking(client, { seen: seen(60), count: 40 });
    const blind = await asking(client, { count: 40 });
    assert.ok(mean(told) < mean(blind) - 0.05, `${mean(told)} beside ${mean(blind)}`);
  } finally {
    await client.close();
  }
});

Deno.test("what failed, waits, lacks values or exceeds a limit is told, with one to six objectives", async () => {
  const client = createBackendClient();
  try {
    const odd: SuggestRequest["seen"] = [
      ...seen(12),
      ...seen(1, { state: "pending", values: null }),
      ...seen(1, { state: "infeasible", values: null }),
      ...seen(1, { state: "failed", values: null }),
      ...seen(2, { state: "stopped" }),
      ...seen(3, { violations: [0.5, -1] }),
      { point: {}, state: "infeasible", values: null, violations: null },
    ];
    assert.equal((await asking(client, { seen: odd })).length, 12);
    for (const width of [1, 6]) {
      const directions = Array<"maximize">(width).fill("maximize");
      const wide = seen(15).map((one) => ({ ...one, values: Array(width).fill(one.values![0]!) }));
      assert.equal((await asking(client, { seen: wide, directions, count: 2 })).length, 2);
    }
    const short = await client.run(
      {
        ...{ call: "suggest", seed: 1, count: 1 },
        directions: ["minimize", "minimize", "minimize"],
        dimensions: DIMENSIONS,
        seen: seen(1),
      },
      { environment: "readers_duckdb1" },
    );
    assert.ok(!short.ok && /it has 2 values for 3 objectives/.test(short.failure.message));
  } finally {
    await client.close();
  }
});

Deno.test("Optuna's own environment has the pins that these tests ran with, and is made on request alone", () => {
  const [own, tests] = [readPins("optuna"), readPins("readers_duckdb1")];
  assert.deepEqual(own.packages.filter((one) => !tests.packages.includes(one)), []);
  assert.ok(own.packages.includes("optuna==5.0.0"));
  assert.match(own.on_request ?? "", /--sampler optuna/);
});
