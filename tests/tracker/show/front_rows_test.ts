/** How sure a front is: in SQL, in the journal of before, and in the report. */
import assert from "node:assert/strict";
import type { GateDecision, JournalRecord } from "../../../core/mod.ts";
import { hypervolumePlot } from "../../../tracker/show/plots/hypervolume_plot.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { reportBlocks } from "../../../tracker/show/reports_of_study.ts";
import type { Store } from "../../../tracker/store/store.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { run, samplesIn, world } from "../../core/study_world.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const w = world({ max_trials: 6 });
const result = await run(w);
const samplesOf = samplesIn(w);

const inStore = (records: readonly JournalRecord[], work: (store: Store) => Promise<void>) =>
  inDirectory(async (root) => {
    await using store = await recordedStore(root, records);
    await work(store);
  });

/** As pare wrote episodes before it knew how sure a front is. */
const before = w.records.map((record): JournalRecord => {
  if (record.type !== "episode_closed") return record;
  const { hypervolume_interval: _, front_probability: __, spent: ___, ...more } = record.episode;
  const { groups: ____, neighbours = [], ...episode } = more;
  const beside = neighbours.map(({ existing: _____, ...one }) => one);
  return { ...record, episode: { ...episode, neighbours: beside } };
});

Deno.test("SQL has the probability of the front by trial and by episode, and what was spent", () =>
  inStore(w.records, async (store) => {
    const { rows } = await store.query("SELECT trial_id, front_probability AS p FROM pareto");
    assert.ok(rows.length > 3);
    for (const { trial_id, p } of rows) {
      assert.equal(p, result.front_probability[String(trial_id)], String(trial_id));
    }
    const { rows: turns } = await store.query(
      `SELECT hypervolume AS value, hypervolume_low AS low, hypervolume_high AS high,
         spent_seconds AS seconds, spent_gpu_hours AS hours FROM episodes ORDER BY number`,
    );
    const last = turns.at(-1)!;
    assert.deepEqual([last["low"], last["high"]], [...result.hypervolume_interval!]);
    assert.ok(Number(last["low"]) < Number(last["high"]));
    const seconds = turns.map((turn) => Number(turn["seconds"]));
    assert.deepEqual(seconds, [...seconds].sort((a, b) => a - b));
    assert.ok(seconds[0]! > 0);
    assert.ok(turns.every((turn) => turn["hours"] === null), "there is no GPU");
    const { rows: beside } = await store.query("SELECT * FROM front_neighbours ORDER BY place");
    const view = await buildView(result.study_id, w.records, samplesOf);
    assert.ok(beside.length > 0);
    assert.deepEqual(
      beside.map((
        { better, worse, difference, low, high, samples, told_apart, more, existing },
      ) => ({
        ...{
          better,
          worse,
          difference,
          interval: [low, high],
          samples: Number(samples),
          told_apart,
        },
        more: more === null ? null : Number(more),
        existing: existing === null ? null : Number(existing),
      })),
      view.neighbours,
    );
    const { rows: members } = await store.query(
      "SELECT group_number, trial_id, size_bytes FROM front_groups ORDER BY group_number, place",
    );
    assert.ok(view.groups.length > 0, "some are not told apart");
    assert.ok(members.every(({ size_bytes }) => Number(size_bytes) > 0));
    assert.deepEqual(
      [...Map.groupBy(members, ({ group_number }) => Number(group_number)).values()]
        .map((own) => own.map(({ trial_id }) => trial_id)),
      view.groups,
    );
    const { rows: [told] } = await store.query(
      "SELECT count(DISTINCT number) AS n FROM episode_probabilities",
    );
    assert.equal(Number(told!["n"]), turns.length);
  }));

Deno.test("groups may share a trial, each with its own number, and the latest episode's count", () => {
  const episodes = w.records.filter(({ type }) => type === "episode_closed");
  const [a, b, c] = result.trials.map(({ trial_id }) => trial_id) as [string, string, string];
  const records = w.records.map((record): JournalRecord => {
    if (record.type !== "episode_closed") return record;
    const groups = record === episodes.at(-1) ? [[b, a], [a, c]] : [[a, b, c]];
    return { ...record, episode: { ...record.episode, groups } };
  });
  return inStore(records, async (store) => {
    const { rows } = await store.query(
      "SELECT group_number, place, trial_id FROM front_groups ORDER BY ALL",
    );
    assert.deepEqual(
      rows.map((
        { group_number, place, trial_id },
      ) => [Number(group_number), Number(place), trial_id]),
      [[0, 0, b], [0, 1, a], [1, 0, a], [1, 1, c]],
    );
  });
});

Deno.test("a journal of before has no probabilities in SQL, and a report without the curve", () =>
  inStore(before, async (store) => {
    const { rows } = await store.query("SELECT front_probability AS p FROM pareto");
    assert.ok(rows.length > 3 && rows.every(({ p }) => p === null));
    const { rows: [groups] } = await store.query("SELECT count(*) AS n FROM front_groups");
    assert.equal(Number(groups!["n"]), 0);
    const { rows: beside } = await store.query("SELECT existing FROM front_neighbours");
    assert.ok(beside.length > 0 && beside.every(({ existing }) => existing === null));
    const view = await buildView(result.study_id, before, samplesOf);
    assert.equal(hypervolumePlot(view.episodes), null);
    const text = renderMarkdown(reportBlocks(view));
    assert.match(text, /The hypervolume of the front is [\d.]+ \(95 % interval/);
    assert.doesNotMatch(text, /hypervolume\.svg/);
  }));

Deno.test("a report says how sure the hypervolume is, why the study ended, and draws the curve", async () => {
  const view = await buildView(result.study_id, w.records, samplesOf);
  const text = renderMarkdown(reportBlocks(view));
  assert.match(
    text,
    /95 % interval [\d.]+ to [\d.]+, by the answers drawn again\)\. It ended: All 6/,
  );
  assert.match(text, /## The front, neighbour by neighbour/);
  assert.match(text, /The samples (cannot tell t\d\d|tell every two)/);
  assert.match(text, /!\[Hypervolume.*\]\(hypervolume\.svg\)/);
  const svg = hypervolumePlot(view.episodes)!;
  assert.match(svg, /minutes of the study/);
  assert.doesNotMatch(svg, /NaN|undefined|null|GPU hours/);
});

Deno.test("SQL and report tell of stops: samples, rival, and how often they would have been wrong", async () => {
  const gate = (more: Partial<GateDecision>): GateDecision => ({
    ...{ gate: "joins_front", decision: "abort", reason: "P is low", value: 0.001 },
    ...{ threshold: 0.02, samples: 100, dominated_by: "study/t01" },
    ...more,
  });
  const last = result.trials.at(-1)!.trial_id;
  const decided = gate({ expected: 150, unread: 300 });
  const [on_front] = result.front.filter((id) => id !== "study/t00" && id !== last);
  const records = w.records.map((record): JournalRecord => {
    if (record.type !== "trial_closed") return record;
    const { trial } = record;
    if (trial.trial_id === on_front) {
      const checked = gate({ gate: "joins_front_checked", decision: "pass" });
      return { ...record, trial: { ...trial, gates: [...trial.gates, checked] } };
    }
    return trial.number === result.trials.length - 1
      ? { ...record, trial: { ...trial, gates: [...trial.gates, decided] } }
      : record;
  });
  await inStore(records, async (store) => {
    const { rows } = await store.query(
      "SELECT DISTINCT decision, samples, expected, unread, dominated_by FROM gate_decisions WHERE gate LIKE 'joins%' ORDER BY 1",
    );
    const kept = { samples: 100, dominated_by: "study/t01" };
    const numbers = rows.map((row) => ({
      ...row,
      ...{ samples: Number(row["samples"]), unread: row["unread"] && Number(row["unread"]) },
      expected: row["expected"] && Number(row["expected"]),
    }));
    assert.deepEqual(numbers, [
      { decision: "abort", ...kept, expected: 150, unread: 300 },
      { decision: "pass", ...kept, expected: null, unread: null },
    ]);
  });
  const view = await buildView(result.study_id, records, samplesOf);
  const text = renderMarkdown(reportBlocks(view));
  assert.match(
    text,
    /\d trials? w(as|ere) stopped as unlikely to join the front\. Of 1 that were finished/,
  );
  assert.match(text, /1 is on it: a stop is wrong in 21 % to 100 % \(95 %, Wilson\)/);
  assert.match(
    text,
    /so that 300 of them were not: t\d\d after 100, about 150 told before\./,
  );
});
