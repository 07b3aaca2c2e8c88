/** What `pare mix` is told and says, and its rows in SQL. */
import assert from "node:assert/strict";
import { type MixCandidate, type MixesCompared, replayStudy } from "../../../core/mod.ts";
import { mixCommand, mixOptions, mixVerdict } from "../../../tracker/commands/study/mix.ts";
import { keptFormats } from "../../../tracker/session/study_mix.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { smallFacts } from "../../core/spec_fixtures.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, studyRecords } from "../../fixtures/stores/records.ts";

function candidate(source: MixCandidate["source"], kl: number, won: boolean): MixCandidate {
  return {
    ...{ source, mix: "3-bit-g64=0-4 4-bit-g64=5-8", size_bytes: 4000, weight_bits: 3.5 },
    ...{ predicted_kl: kl / 2, kl, kl_by_window: [kl, kl], won },
    less_uniform: source === "uniform" ? null : { mean: -0.1, low: -0.2, high: -0.05, windows: 2 },
  };
}

const MIXES = [candidate("fisher", 0.3, true), candidate("uniform", 0.4, false)];

function compared(mixes: MixCandidate[]): MixesCompared {
  const own = { study_id: STUDY, artifact_id: "a".repeat(16), mix_id: "m1", seed: 3 };
  const text = { calibration_sha256: "c".repeat(64), budget_bytes: 4100 };
  return { type: "mixes_compared", at: AT, ...own, ...text, mixes };
}

Deno.test("mixes stand in SQL, those of the same question once, and are no time of a study", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    await store.record(compared([candidate("near", 9, true)]));
    await store.record(compared(MIXES));
    await store.flush({ wait_ms: 60_000 });
    const { rows } = await store.query(
      "SELECT source, kl, less_uniform, interval_high, won FROM mix_candidates ORDER BY number",
    );
    assert.deepEqual(rows, [
      { source: "fisher", kl: 0.3, less_uniform: -0.1, interval_high: -0.05, won: true },
      { source: "uniform", kl: 0.4, less_uniform: null, interval_high: null, won: false },
    ]);
    const before = replayStudy(studyRecords(), STUDY)!;
    const late = { ...compared(MIXES), at: new Date(Date.parse(AT) + 86_400_000).toISOString() };
    const after = replayStudy([...studyRecords(), late], STUDY)!;
    assert.equal(after.spent_seconds, before.spent_seconds);
  }));

Deno.test("the answer says which mix won, by how much, and where that may be chance", () => {
  assert.match(mixVerdict(MIXES), /^a mix by fisher won: 3\.500 bits.* by 0\.1.* on 2 windows/);
  assert.doesNotMatch(mixVerdict(MIXES), /chance/);
  const wide = { ...MIXES[0]!, less_uniform: { mean: -0.1, low: -0.3, high: 0.1, windows: 2 } };
  assert.match(mixVerdict([wide]), /which may be chance$/);
  assert.match(mixVerdict([candidate("uniform", 0.4, true)]), /^one format for all layers won/);
  assert.match(mixVerdict([{ ...MIXES[0]!, kl: null }]), /takes for the best: 3\.500/);
});

Deno.test("a mix is asked for with one budget", async () => {
  assert.deepEqual(mixOptions({ bits: "3.5", refine: "0" }), { bits: 3.5, refine: 0 });
  assert.deepEqual(mixOptions({ bytes: "4000", free: true }), { bytes: 4000, fused: false });
  await assert.rejects(mixCommand("s", {}), /give --bits 3\.5, or --bytes N$/);
  assert.throws(() => mixOptions({ bits: "3", bytes: "5" }), /without one budget/);
  assert.throws(() => mixOptions({ bits: "few" }), /Cannot use --bits few/);
});

Deno.test("what is kept is each width by the groups that divide every row, and by rows", () => {
  const facts = smallFacts();
  const of = (group_sizes: number[]) =>
    keptFormats({ ...facts, model: { ...facts.model, group_sizes } });
  assert.equal(of([16, 32, 64]).length, 12);
  assert.deepEqual(of([48]), ["2-bit", "3-bit", "4-bit", "8-bit"]);
});
