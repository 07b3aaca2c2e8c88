/** The command that a stopped run prints goes on as it went. */
import assert from "node:assert/strict";
import { openByHand } from "../../../core/mod.ts";
import { resumeLine } from "../../../tracker/commands/output/go_on.ts";
import { run, world } from "../../core/study_world.ts";

Deno.test("what a study does not keep stands in the command that goes on, without a credential", () => {
  assert.equal(resumeLine("a", {}), "npx -y deno task pare resume a");
  const place = { store: "my store", engine: "slurm:gpu", engines: "e.yaml", workers: "4" };
  const more = {
    maxDisk: "50GB",
    output: "out",
    mlflow: "http://me:secret@host:5000",
    caches: "r",
  };
  assert.equal(
    resumeLine("a", { ...place, ...more }),
    'npx -y deno task pare resume a --store "my store" --engine slurm:gpu --engines e.yaml ' +
      "--workers 4 --max-disk 50GB --output out --mlflow http://host:5000 --caches r",
  );
});

Deno.test("a study that is cancelled says the command that it was given, and so does its advice", async () => {
  const w = world({ max_trials: 4 });
  const go_on = resumeLine("study", { engine: "slurm:gpu" });
  const hand = await openByHand(w.input({ go_on }), w.ports);
  await hand.baseline();
  w.abort.abort();
  const { message, recommendation } = await hand.close();
  assert.equal(message, `The study was cancelled: \`${go_on}\` goes on.`);
  assert.deepEqual(recommendation!.next.filter((one) => one.includes("resume")), [message]);
});

Deno.test("a budget that ends before the baseline does says how to go on there", async () => {
  const w = world({ budget_seconds: 3 });
  const { message } = await run(w, { go_on: resumeLine("study", { store: "s" }) });
  assert.match(message, /`npx -y deno task pare resume study --store s --budget 6s` goes on/);
});
