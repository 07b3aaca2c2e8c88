/** A notebook's last cell closes the lab: the cells before it, run again, open what they need. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { openLab } from "../../../../tracker/mod.ts";
import { shareDefaultEnvironment } from "../../../python-backends/scripted_worker.ts";
import { temporaryFolder } from "../../../temporary_folder.ts";

const TINY = {
  ...{ model_name: "tiny", dataset: "tiny", offline: true, max_trials: 1 },
  ...{ fidelity: "proxy" as const, samples: { proxy: 20 } },
};

Deno.test("a session whose lab was closed goes on, and the same lab gives the store back", async () => {
  await shareDefaultEnvironment();
  const store = join(temporaryFolder("closed-lab"), "store");
  const lab = await openLab({ store, notebook: true });
  const study = await lab.open(TINY, "one");
  await lab.close();
  const hand = await study.byHand();
  assert.equal((await hand.baseline()).state, "completed");
  const again = await openLab({ store, notebook: true });
  assert.notEqual(again, lab, "the first was closed");
  assert.equal((await lab.open(TINY, "two")).study_id, "two");
  await lab.close();
  assert.equal(hand.isOpen(), false, "the lab that was opened for it is closed with the first");
  await using elsewhere = await openLab({ store, write: true });
  assert.equal((await elsewhere.studies()).length, 1);
});

Deno.test("a program's lab that was closed stays closed", async () => {
  const store = join(temporaryFolder("closed-lab"), "store");
  const lab = await openLab({ store });
  await lab.close();
  await assert.rejects(lab.open(TINY, "one"), /Stopped while the study was set up/);
});
