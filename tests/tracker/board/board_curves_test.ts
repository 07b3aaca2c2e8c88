/** Curves of a training on the board's page of a trial. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { sparkline } from "../../../tracker/show/pages/sparkline.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { testBoard } from "../../fixtures/stores/board.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";

Deno.test("A trial that trained shows its loss and its rate as a line and in words; another shows neither", () =>
  inDirectory(async (root) => {
    const at = join(root, "store");
    {
      await using store = await openStore(at, { write: true });
      await Promise.all(studyRecords().map((record) => store.record(record)));
      const run = store.openRun({ study_id: STUDY, trial_id: `${STUDY}/t01`, action_index: 0 });
      const logged: Promise<void>[] = [];
      for (let step = 1; step <= 1_000; step++) {
        const loss = step === 500 ? NaN : 4 - step / 500;
        logged.push(run.log({ loss, learning_rate: 0.001, other: step }, { step }));
      }
      await Promise.all(logged);
      await store.flush({ wait_ms: 60_000 });
    }
    await using test = testBoard([at]);
    const page = async (name: string) =>
      await (await test.ask(`/studies/${STUDY}/trials/${name}`)).text();
    const trained = await page("t01");
    const [loss, rate, ...others] = [
      ...trained.matchAll(/<svg class="spark" role="img"[^>]*aria-label="([^"]*)"/g),
    ].map(([, label]) => label!);
    assert.equal(rate?.slice(0, 5), "loss:"); // in the order of their names: learning_rate, loss
    assert.match(loss ?? "", /^learning rate: 0\.001\d* at step 1, .* 1000 points$/);
    assert.match(
      rate ?? "",
      /^loss: 4\.00 at step 1, 2\.00 at step 1000, lowest 2\.00, 999 points$/,
    );
    assert.deepEqual(others, []);
    const points = /<polyline points="([^"]*)"/.exec(trained)?.[1]?.split(" ") ?? [];
    assert.equal(points.length, 120);
    assert.equal((await page("t02")).includes('class="spark"'), false);
  }));

Deno.test("A line of one point or of one value is drawn, one of none is not", () => {
  const spark = (...values: number[]) =>
    sparkline({
      name: "<loss>",
      points: values.map((value, step) => ({ step, value })),
      ...{ count: values.length, first_step: 0, first: 1, last_step: 2, last: 3, least: 1 },
    });
  assert.equal(spark(), "");
  assert.equal(spark(NaN, Infinity), "");
  assert.match(spark(1), /points="80\.0,16\.0"/);
  assert.match(spark(2, NaN, 2), /points="2\.0,16\.0 158\.0,16\.0"/);
  assert.match(spark(0, 1), /points="2\.0,30\.0 158\.0,2\.0"/); // what is more stands above
  assert.match(
    spark(1),
    /aria-label="&lt;loss&gt;: 1\.00 at step 0, 3\.00 at step 2, lowest 1\.00, 1 point"/,
  );
});
