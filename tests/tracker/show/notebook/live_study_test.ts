/** A cell while its study runs: progress of the whole, and a front that moves in one display. */
import assert from "node:assert/strict";
import type { StudyEvent } from "../../../../core/mod.ts";
import { liveStudy } from "../../../../tracker/show/notebook/live_study.ts";
import { followProgress, progressText } from "../../../../tracker/show/view/study_progress.ts";
import { type Sent, worldSession } from "./world_session.ts";

Deno.test("a cell that runs a study shows it by itself, in two displays that move", async () => {
  const sent: Sent[] = [];
  const { session } = worldSession({ max_trials: 2 }, sent);
  await session.run();
  const ids = [...new Set(sent.map(({ display_id }) => display_id))];
  assert.equal(ids.length, 2);
  const first = ids.map((id) => sent.find(({ display_id }) => display_id === id)?.type);
  assert.deepEqual(first, ["display_data", "display_data"], "later ones are updates in its place");
  const texts = sent.map(({ data }) => data["text/plain"]!);
  assert.ok(texts.some((text) => /^1 of 2 trials done, about /.test(text)), texts.join("\n"));
  const last = sent.at(-1)!.data;
  assert.deepEqual(Object.keys(last), ["image/svg+xml", "image/png", "text/plain"]);
  sent.length = 0;
  await session.run();
  assert.deepEqual(sent, [], "a finished study has nothing to show");
});

Deno.test("the plot is drawn at most every two seconds, and not while speed is measured", async () => {
  const { session, world } = worldSession({ max_trials: 2 });
  await session.run();
  const sent: string[] = [];
  let time = 0;
  let views = 0;
  const live = liveStudy(
    {
      request: session.request,
      before: [],
      view: () => {
        views++;
        return session.view();
      },
    },
    (_, content) => {
      if ("image/svg+xml" in (content["data"] as object)) sent.push("plot");
      return Promise.resolve();
    },
    () => time,
    0,
  );
  const closed = world.records.find(({ type }) => type === "trial_closed")!;
  const record: StudyEvent = { event: "record", record: closed };
  const phase = (phase: string): StudyEvent => ({
    event: "phase",
    trial_id: "study/t01",
    phase,
    detail: "",
  });
  live.onEvent(record);
  // The first drawing is done: it is not what keeps back those below.
  while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  time = 1999;
  live.onEvent(record);
  assert.equal(views, 1, "too soon");
  time = 5000;
  live.onEvent(phase("speed"));
  assert.equal(views, 1, "a drawing would slow the measurement down");
  await live.finish();
  assert.deepEqual([views, sent.length], [2, 2]);
});

Deno.test("progress counts trials, tells the time left, and goes on where a study stopped", async () => {
  const { session, world } = worldSession({ max_trials: 4 });
  await session.run();
  let time = 0;
  const follow = followProgress({ max_trials: 4, budget_seconds: 1000 }, () => time);
  assert.equal(progressText(follow.progress()), "0 of 4 trials done, at most 17 min left");
  const told: string[] = [];
  for (const record of world.records) {
    time += 100;
    follow.onEvent({ event: "record", record });
    if (record.type === "trial_opened") told.push(progressText(follow.progress()));
  }
  assert.match(told[0]!, /^the baseline, before 4 trials, at most/);
  assert.match(told[1]!, /^trial 1 of 4 \(t01\), at most/);
  assert.match(told[2]!, /^trial 2 of 4 \(t02\), /);
  const half = world.records.slice(
    0,
    world.records.findIndex(({ type, ...record }) =>
      type === "trial_opened" && (record as { number?: number }).number === 3
    ),
  );
  const again = followProgress({ max_trials: 4 }, () => time, half);
  assert.match(progressText(again.progress()), /^2 of 4 trials done, about /);
  assert.equal(
    progressText(followProgress({}, () => time).progress()),
    "0 trials done",
    "without a limit nobody knows",
  );
  const beside = followProgress({ max_trials: 4, workers: 2 }, () => time, half);
  for (const record of world.records.filter(({ type }) => type === "trial_opened").slice(3)) {
    beside.onEvent({ event: "record", record });
  }
  assert.match(progressText(beside.progress()), /^trials 3 to 4 of 4 \(t03, t04\), about /);
});
