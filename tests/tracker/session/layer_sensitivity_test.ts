/** What formats cost layers: kept in the journal, asked in SQL, and no time of a study. */
import assert from "node:assert/strict";
import {
  type CallRequest,
  type JournalRecord,
  type LayerScore,
  type LayerScorer,
  rankAgreement,
  replayStudy,
} from "../../../core/mod.ts";
import { openFolderCache } from "../../../tracker/artifacts/folder_cache.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import type { CallRunner } from "../../../tracker/lab/runner/call_runner.ts";
import { failed } from "../../../tracker/lab/runner/call_runner.ts";
import { scoreLayers, usualFormats } from "../../../tracker/session/score_layers.ts";
import {
  sensitivityCommand,
  sensitivityTable,
} from "../../../tracker/commands/study/sensitivity.ts";
import { layerMix } from "../../../tracker/show/plots/figures/layers.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { smallFacts } from "../../core/spec_fixtures.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords, trialId } from "../../fixtures/stores/records.ts";

/** A layer's score; layers are numbered by their values' places. */
function scores(scorer: LayerScorer, format: string, values: readonly number[]): LayerScore[] {
  return values.map((value, layer_index) => ({
    ...{ layer: `layers.${layer_index}.q_proj`, layer_index, part: "linear" as const, format },
    ...{ weight_bits: 3.25, size_bytes: 416, scorer, value, unit: "nats per token", n: 256 },
    ...{ standard_error: scorer === "kl" ? 0.1 : null, shares_input: layer_index },
  }));
}

function scored(layers: LayerScore[], at = AT): JournalRecord {
  const own = { study_id: STUDY, artifact_id: "a".repeat(16), seed: 3 };
  return { type: "layers_scored", at, ...own, calibration_sha256: "c".repeat(64), layers };
}

const KL = [0.4, 0.1, 0.1, 0.3, 0.05];
const FISHER = [0.35, 0.12, 0.11, 0.4, 0.02];

Deno.test("a row keeps who scored it, and another program's agree or not with pare's", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    await store.record(scored(scores("kl", "4-bit-g32", KL)));
    const of = { study_id: STUDY, artifact_id: "a".repeat(16), seed: null };
    const imported = { program: "AutoRound AutoScheme", path: "s.json", sha256: "d".repeat(64) };
    const foreign = scores("fisher", "4-bit-g32", FISHER)
      .map((row) => ({ ...row, scorer: "auto_scheme", n: null, shares_input: null, unit: "1" }));
    await store.record({
      ...{ type: "layers_scored", at: AT, ...of, calibration_sha256: null, imported },
      layers: foreign,
    });
    await store.flush();
    const { rows } = await store.query(
      "SELECT scorer, program, n, seed, count(*) AS layers FROM layer_sensitivity " +
        "GROUP BY ALL ORDER BY scorer",
    );
    assert.deepEqual(rows, [
      { scorer: "auto_scheme", program: imported.program, n: null, seed: null, layers: 5 },
      { scorer: "kl", program: "pare", n: 256, seed: 3, layers: 5 },
    ]);
    const [agreed, ...more] = (await store.query("SELECT * FROM scorer_agreement")).rows;
    assert.deepEqual([agreed?.scorer, agreed?.other_scorer, more], ["auto_scheme", "kl", []]);
    const { spearman } = rankAgreement(FISHER, KL)!;
    assert.ok(Math.abs(Number(agreed?.rank_correlation) - spearman!) < 1e-9);
  }));

Deno.test("layers stand in SQL with their ranks, and how far two scorers agree", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    await store.record(scored(scores("kl", "3-bit-g64", [9, 9, 9, 9, 9])));
    await store.record(scored([
      ...scores("kl", "3-bit-g64", KL),
      ...scores("fisher", "3-bit-g64", FISHER),
      ...scores("kl", "8-bit", [0, 0, 0, 0, 0]),
      ...scores("fisher", "8-bit", [1, 2, 3, 4, 5]),
    ]));
    const mix = { stored_bits: [3, 8], weight_bits: [3.25, 8.25], fisher: [0.2, 0.1] };
    for (const [metric, values] of Object.entries(mix)) {
      await store.record({
        ...{ type: "layer_sensitivities", at: AT, study_id: STUDY, trial_id: trialId(1), metric },
        ...{ artifact_id: "0".repeat(16), unit: metric === "fisher" ? "nats per token" : "bits" },
        layers: values.map((value, n) => ({ layer: `layers.${n}.q_proj`, value })),
      });
    }
    await store.flush({ wait_ms: 60_000 });
    const mixed = await store.query(
      `SELECT layer_index, layer, format, weight_bits, scorer, value FROM layer_mix
       WHERE trial_id = '${trialId(1)}' ORDER BY layer_index`,
    );
    assert.deepEqual(
      mixed.rows.map((row) => ({ ...row, layer_index: Number(row["layer_index"]) })),
      [
        ...[[0, "3-bit", 3.25, 0.2], [1, "8-bit", 8.25, 0.1]].map(([n, format, bits, value]) => ({
          ...{ layer_index: n, layer: `layers.${n}.q_proj`, format, weight_bits: bits },
          ...{ scorer: "fisher", value },
        })),
      ],
    );
    const ASKED = `SELECT layer_index, layer, format, scorer, weight_bits, value, unit, rank
      FROM layer_sensitivity WHERE scorer = 'kl' AND format = '3-bit-g64' ORDER BY layer_index`;
    const { rows } = await store.query(ASKED);
    assert.deepEqual(rows.map(({ value }) => value), KL, "the later record counts");
    assert.deepEqual(rows.map(({ rank }) => Number(rank)), [1, 3, 3, 2, 5]);
    const agreement = await store.query(
      "SELECT format, scorer, other_scorer, n, rank_correlation AS r FROM scorer_agreement ORDER BY 1",
    );
    const expected = rankAgreement(FISHER, KL).spearman!;
    assert.equal(agreement.rows.length, 2);
    const { r, ...first } = agreement.rows[0]!;
    assert.deepEqual({ ...first, n: Number(first["n"]) }, {
      ...{ format: "3-bit-g64", scorer: "fisher", other_scorer: "kl", n: 5 },
    });
    assert.ok(Math.abs(Number(r) - expected) < 1e-12, `${r} is not ${expected}`);
    assert.equal(agreement.rows[1]!["r"], null, "all alike have no order");
  }));

Deno.test("each layer of a composition stands in SQL with its code, in the model's order", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    // Of each code the layers that have it: their places in the model are the scorer's.
    const told: [string, string, Record<number, number>][] = [
      ["seedlm_12_8_3", "bits per weight", { 1: 3.5 }],
      ["vptq_4_8", "bits per weight", { 0: 2.1, 2: 2.2 }],
      ["fisher", "nats per token", { 0: 0.3, 1: 0.2, 2: 0.1 }],
    ];
    for (const [metric, unit, values] of told) {
      await store.record({
        ...{ type: "layer_sensitivities", at: AT, study_id: STUDY, trial_id: trialId(1), metric },
        ...{ artifact_id: "0".repeat(16), unit },
        layers: Object.entries(values).map(([n, value]) => ({
          layer: `layers.${n}.q_proj`,
          value,
        })),
      });
    }
    await store.flush({ wait_ms: 60_000 });
    const { rows } = await store.query(
      `SELECT layer_index::INT AS n, layer, format, weight_bits, scorer, value FROM layer_mix
       WHERE trial_id = '${trialId(1)}' ORDER BY layer_index`,
    );
    const own = [["vptq_4_8", 2.1, 0.3], ["seedlm_12_8_3", 3.5, 0.2], ["vptq_4_8", 2.2, 0.1]];
    assert.deepEqual(
      rows,
      own.map(([format, weight_bits, value], n) => ({
        ...{ n, layer: `layers.${n}.q_proj`, format, weight_bits, scorer: "fisher", value },
      })),
    );
    const drawn = layerMix(rows.map((row) => ({ ...row, trial_id: trialId(1) })));
    assert.match(drawn, /formats vptq_4_8, seedlm_12_8_3/, "the fewest bits first");
    assert.match(drawn, />2\.1</);
  }));

Deno.test("layers scored a day later are no time of the study", () => {
  const before = replayStudy(studyRecords(), STUDY)!;
  const later = new Date(Date.parse(AT) + 86_400_000).toISOString();
  const after = replayStudy([...studyRecords(), scored(scores("kl", "8-bit", KL), later)], STUDY)!;
  assert.equal(after.spent_seconds, before.spent_seconds);
});

Deno.test("the same question is measured once; one that failed goes on in its own folder", () =>
  inDirectory(async (root) => {
    const tools = {
      caches: openFolderCache(`${root}/cache`),
      artifacts: await openArtifactStore(`${root}/artifacts`),
      environmentHash: (name: string) => Promise.resolve(`pins of ${name}`),
    };
    const asked: CallRequest<"sensitivity">[] = [];
    let fails = true;
    const answer = scores("kl", "4-bit", KL);
    const runner = ((_trial: string, request: CallRequest) => {
      assert.ok(request.call === "sensitivity");
      asked.push(request);
      Deno.writeTextFileSync(`${request.work_dir}/scores.jsonl`, "kept");
      const failure = { kind: "crash", message: "Cannot go on", hint: null } as const;
      const ended = fails ? failed({ ...failure, phase: "sensitivity" }, []) : null;
      return Promise.resolve(ended ?? { ok: true, value: { layers: answer }, spans: [] });
    }) as CallRunner;
    const question = {
      ...{ artifact_id: "a", artifact_dir: "/a", calibration_path: "/c", formats: ["4-bit"] },
      ...{ calibration_sha256: "c", scorers: ["kl" as const], windows: 2, tokens: 64, seed: 1 },
    };
    await assert.rejects(scoreLayers(tools, runner, question), /^UsageError: Cannot go on$/);
    fails = false;
    assert.deepEqual(await scoreLayers(tools, runner, question), answer);
    assert.deepEqual(await scoreLayers(tools, runner, question), answer);
    assert.equal(asked.length, 2);
    assert.equal(asked[0]!.work_dir, asked[1]!.work_dir);
    await scoreLayers(tools, runner, { ...question, seed: 2 });
    assert.equal(asked.length, 3);
    assert.notEqual(asked[2]!.work_dir, asked[1]!.work_dir);
  }));

Deno.test("the usual formats have the largest group up to 64 that divides every row, or none", () => {
  const facts = smallFacts();
  const of = (group_sizes: number[]) =>
    usualFormats({ ...facts, model: { ...facts.model, group_sizes } });
  assert.deepEqual(of([16, 32, 64, 128]), ["3-bit-g64", "4-bit-g64", "8-bit-g64"]);
  assert.deepEqual(of([16, 48]), ["3-bit-g48", "4-bit-g48", "8-bit-g48"]);
  assert.deepEqual(of([]), ["3-bit", "4-bit", "8-bit"]);
});

Deno.test("the table has formats across, the layers that lose most first, and says what it leaves out", () => {
  const own = { study_id: STUDY, model_name: "tiny", artifact_id: "a", seed: 3, program: "pare" };
  const rows = [
    ...scores("kl", "3-bit", [0.1, 0.4, 0.2]),
    ...scores("kl", "8-bit", [0.001, 0.25, 0.5]),
    ...scores("fisher", "3-bit", [9, 9, 9]),
  ].map((row) => ({ ...own, ...row }));
  assert.deepEqual(sensitivityTable(rows, 2).split("\n"), [
    "each layer alone in a format, by kl, nats per token",
    "",
    "layer            3-bit  8-bit",
    "───────────────  ─────  ─────",
    "layers.1.q_proj  0.400  0.250",
    "layers.2.q_proj  0.200  0.500",
    "… and 1 more that lose less; --all shows them",
  ]);
  assert.doesNotMatch(sensitivityTable(rows, Infinity), /more that lose/);
});

Deno.test("an unknown scorer and no number are refused before a lab is opened", async () => {
  await assert.rejects(
    sensitivityCommand("tiny", { scorer: ["hessian"] }),
    /^UsageError: Cannot score layers: Unknown --scorer "hessian"\. Known: auto_scheme, fisher, kl, reconstruction$/,
  );
  await assert.rejects(
    sensitivityCommand("tiny", { scorer: ["autoscheme"] }),
    /Did you mean "auto_scheme"/,
  );
  await assert.rejects(sensitivityCommand("tiny", { tokens: "none" }), /--tokens/);
});
