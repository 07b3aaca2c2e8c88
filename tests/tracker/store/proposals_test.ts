/** What samplers are shown and answer, in SQL; and what the store tells of earlier studies. */
import assert from "node:assert/strict";
import type { Facts, JournalRecord } from "../../../core/mod.ts";
import { earlierTrials } from "../../../tracker/lab/data/earlier_trials.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { assertRebuilds } from "../../fixtures/stores/contents.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, STUDY, studyOpened, studyRecords } from "../../fixtures/stores/records.ts";

const asking: JournalRecord = {
  type: "proposed",
  at: AT,
  study_id: STUDY,
  number: 3,
  ask: 0,
  sampler: "thinker",
  shown: {
    hash: "cbf29ce484222325",
    trials: ["demo-1/t00", "demo-1/t01"],
    front: ["demo-1/t01"],
    under_way: [],
    earlier_studies: ["before"],
    budget: { seconds_left: 90.5, trials_left: null, full_evaluations_left: 7 },
  },
  answer: {
    actions: [{ agent: "quantization", method: "gptq", params: { bits: 4, group_size: "auto" } }],
    origin: { mode: "explore", reason: "4 bits held before" },
  },
  failure: null,
  seconds: 2.5,
};

const given = (study_id: string): JournalRecord => ({
  type: "earlier_trials_given",
  at: AT,
  study_id,
  trials: [{
    study_id: "before",
    trial_id: "before/t01",
    model_name: "tiny",
    dataset: "tiny",
    actions: [{ agent: "quantization", method: "gptq", params: { bits: 4 } }],
    state: "completed",
    fidelity: "full",
    failure_kind: null,
    reward: 0.3,
    figures: { accuracy: { value: 0.79, baseline: 0.8 } },
  }],
});

const loss = { part: "linear" as const, format: "4-bit-g64", weight_bits: 4.25, kl: 0.1 };
const scored: JournalRecord = {
  type: "format_losses_given",
  at: AT,
  study_id: STUDY,
  losses: [{ study_id: "before", ...loss }],
};

Deno.test("proposals hold what a sampler was shown and what it answered, and are rebuilt the same", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const silent: JournalRecord = { ...asking, ask: 1, answer: null, failure: "no connection" };
    for (const one of [...studyRecords(), given(STUDY), scored, asking, silent]) {
      await store.record(one);
    }
    await store.flush({ wait_ms: 60_000 });
    const { rows } = await store.query(`
      SELECT p.* EXCLUDE (position, answered_at), e.sampler AS ran_for
      FROM proposals p JOIN episodes e USING (study_id, number) ORDER BY ask`);
    const shown = {
      study_id: STUDY,
      number: 3,
      sampler: "thinker",
      seconds: 2.5,
      shown_hash: "cbf29ce484222325",
      shown_trials: ["demo-1/t00", "demo-1/t01"],
      shown_front: ["demo-1/t01"],
      under_way: [],
      earlier_studies: ["before"],
      seconds_left: 90.5,
      trials_left: null,
      full_evaluations_left: 7,
      ran_for: "seeds",
    };
    assert.deepEqual(rows, [
      {
        ...shown,
        ask: 0,
        recipe: "quantization/gptq(bits=4, group_size=auto)",
        mode: "explore",
        reason: "4 bits held before",
        failure: null,
      },
      { ...shown, ask: 1, recipe: null, mode: null, reason: null, failure: "no connection" },
    ]);
    const earlier = await store.query(
      "SELECT * EXCLUDE (position) FROM earlier_trials",
    );
    assert.deepEqual(earlier.rows, [{
      study_id: STUDY,
      earlier_study_id: "before",
      earlier_trial_id: "before/t01",
      state: "completed",
      fidelity: "full",
      reward: 0.3,
    }]);
    const losses = await store.query("SELECT * EXCLUDE (position) FROM format_losses");
    assert.deepEqual(losses.rows, [{ study_id: STUDY, scored_study_id: "before", ...loss }]);
    await assertRebuilds(store);
    const { rows: silentColumns } = await store.query(`
      SELECT table_name, column_name FROM duckdb_columns() WHERE comment IS NULL
        AND table_name IN ('proposals', 'earlier_trials', 'format_losses', 'action_measurements')`);
    assert.deepEqual(silentColumns, []);
  }));

Deno.test("what a language model was asked and answered are rows, with the trial that came of it", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const consulted: JournalRecord = {
      ...{ type: "consulted", at: AT, study_id: STUDY, number: 3, ask: 0, sampler: "seeds" },
      exchange: 0,
      base_url: "http://host/v1",
      model: "m",
      messages: [{ role: "system", content: "choose" }, { role: "user", content: "{}" }],
      evidence: ["demo-1/t00", "before/t01"],
      reply: "no idea",
      outcome: "refused",
      reason: "the answer holds no JSON object",
      seconds: 1.5,
    };
    const again: JournalRecord = {
      ...consulted,
      exchange: 1,
      messages: [{ role: "assistant", content: "no idea" }, { role: "user", content: "Refused" }],
      reply: "{}",
      outcome: "proposed",
      reason: null,
    };
    const made = { ...asking, sampler: "seeds" };
    for (const one of [...studyRecords(), consulted, again, made]) await store.record(one);
    await store.flush({ wait_ms: 60_000 });
    const { rows } = await store.query(
      "SELECT exchange, prompt, evidence, reply, outcome, reason FROM consultations ORDER BY 1",
    );
    assert.deepEqual(rows[0], {
      exchange: 0,
      prompt: "system: choose\n\nuser: {}",
      evidence: ["demo-1/t00", "before/t01"],
      reply: "no idea",
      outcome: "refused",
      reason: "the answer holds no JSON object",
    });
    assert.equal(rows[1]!["prompt"], "assistant: no idea\n\nuser: Refused");
    const view = await store.query(
      "SELECT exchange, outcome, recipe, trial_id FROM consulted_trials ORDER BY 1",
    );
    const recipe = "quantization/gptq(bits=4, group_size=auto)";
    assert.deepEqual(view.rows, [
      { exchange: 0, outcome: "refused", recipe: null, trial_id: null },
      { exchange: 1, outcome: "proposed", recipe, trial_id: "demo-1/t03" },
    ]);
    await assertRebuilds(store);
    const silent = await store.query(`SELECT table_name, column_name FROM duckdb_columns()
      WHERE comment IS NULL AND table_name IN ('consultations', 'consulted_trials')`);
    assert.deepEqual(silent.rows, []);
  }));

Deno.test("the store tells of trials of the same architecture, and of no other", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const opened = studyOpened("other");
    assert.ok(opened.type === "study_opened");
    const { model } = opened.facts;
    const other = {
      ...opened,
      facts: { ...opened.facts, model: { ...model, architecture: "GPT2LMHeadModel" } },
    };
    for (const one of [...studyRecords(), other]) await store.record(one);
    await store.flush({ wait_ms: 60_000 });
    const facts: Facts = opened.facts;
    assert.deepEqual(await earlierTrials(store, facts, STUDY), [], "its own trials are no news");
    const found = await earlierTrials(store, facts, "new");
    assert.deepEqual(found.map(({ trial_id }) => trial_id), [
      "demo-1/t03",
      "demo-1/t02",
      "demo-1/t01",
    ]);
    assert.deepEqual(found.at(-1), {
      study_id: STUDY,
      trial_id: "demo-1/t01",
      model_name: "tiny",
      dataset: "tiny",
      actions: [{ agent: "quantization", method: "gptq", params: { bits: 4, group_size: 32 } }],
      state: "completed",
      fidelity: "full",
      failure_kind: null,
      reward: 0.3,
      figures: {
        accuracy: { value: 0.79, baseline: 0.8 },
        latency_ms: { value: 5, baseline: 10 },
        size_bytes: { value: 60_000, baseline: 200_000 },
      },
      parameters: 100_000,
      dataset_class: "language",
      max_accuracy_drop: 0.02,
    });
    assert.deepEqual(await earlierTrials(store, other.facts, "new"), []);
  }));

Deno.test("an empty store tells of no earlier trials", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const opened = studyOpened();
    assert.ok(opened.type === "study_opened");
    assert.deepEqual(await earlierTrials(store, opened.facts, "new"), []);
  }));
