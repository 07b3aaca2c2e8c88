/** A study by hand through every real process: what the notebook's user calls, and what is kept. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type Lab,
  openLab,
  silentAsk,
  type StudyResult,
  type StudySession,
} from "../../tracker/mod.ts";
import { UsageError } from "../../core/mod.ts";
import { renderMarkdown } from "../../tracker/show/reports/render_markdown.ts";
import { reportBlocks } from "../../tracker/show/reports_of_study.ts";

const NAME = "by-hand";
const rtn = (params: Record<string, number | string>) => ({
  agent: "quantization",
  method: "rtn",
  params,
});
const request = {
  model_name: "tiny",
  dataset: "tiny",
  fidelity: "proxy",
  samples: { proxy: 80 }, // enough to show that two bits cost the answers
  max_trials: 3,
} as const;

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof UsageError && pattern.test(error.message);

/** The lines by hand of docs/notebook.md, on a study that is open. */
async function documentedLines(folder: string): Promise<(study: StudySession) => Promise<void>> {
  const page = await Deno.readTextFile(new URL("../../docs/notebook.md", import.meta.url));
  const lines = /^(?<lines>const hand = await study\.byHand.*?)^```/ms.exec(page);
  const path = join(folder, "documented.ts");
  const text = lines!.groups!["lines"]!;
  await Deno.writeTextFile(path, `export const drive = async (study: any) => {\n${text}};\n`);
  return (await import(pathToFileURL(path).href)).drive;
}

/** One study is open once; a gate stops a trial in the midst of its chain; a trial is left open. */
async function driveOn(lab: Lab): Promise<StudyResult> {
  const session = await lab.resume(NAME);
  await using study = await session.byHand({ ask: silentAsk() });
  const again = session.byHand({ ask: silentAsk() });
  await assert.rejects(again, refused(/Cannot open the study by-hand as it is open in this lab/));
  await assert.rejects(session.run(), refused(/as it is open in this lab: close\(\) it/));
  const seen: string[] = [];
  study.watch({ onEvent: (event) => event.event === "phase" && seen.push(event.phase) });
  const broken = await study.begin(
    study.recipe([rtn({ bits: 2, group_size: 32 }), rtn({ targets: "embedding", bits: 8 })]),
  );
  await broken.apply();
  assert.ok(seen.includes("apply"), "whoever watches now is told");
  assert.equal((await broken.evaluate())?.decision, "abort", "two bits cost it its answers");
  assert.deepEqual(broken.trial.measurements, []);
  assert.equal(broken.ended?.state, "stopped");
  await broken.learn();
  await study.begin(study.recipe([rtn({ bits: 8 })]));
  return await study.close();
}

Deno.test("a study by hand on the tiny model: an artifact is evaluated and gated, and the loop goes on", async (t) => {
  const folder = await Deno.makeTempDir();
  const store = join(folder, "store");
  try {
    await t.step("the documented lines drive a chain of two", async () => {
      const drive = await documentedLines(folder);
      await using lab = await openLab({ store });
      await drive(await lab.open(request, NAME));
    });

    await t.step("it is taken up by hand, and ends as whoever drives it says", async () => {
      await using lab = await openLab({ store });
      const { stop, trials } = await driveOn(lab);
      assert.equal(stop, "by_hand");
      const states = ["completed", "completed", "stopped", "cancelled"];
      assert.deepEqual(trials.map(({ state }) => state), states);
    });

    await t.step("figures of an action lie apart, gates name what they judged", async () => {
      await using lab = await openLab({ store });
      const trial_id = `${NAME}/t01`;
      const staged = await lab.sql`
        SELECT s.action_index, s.attempt, s.fidelity, s.value, m.n AS finished_n, m.figures,
          s.artifact_id = a.artifact_id AS of_first
        FROM action_measurements s
        JOIN actions a ON a.trial_id = s.trial_id AND a.action_index = 0
        JOIN (SELECT any_value(n) AS n, count(*) AS figures FROM measurements
          WHERE trial_id = ${trial_id} AND metric = 'accuracy' AND task IS NULL) m ON true
        WHERE s.trial_id = ${trial_id} AND s.metric = 'accuracy' AND s.task IS NULL`;
      const [first] = staged;
      assert.deepEqual([staged.length, first!["figures"]], [1, 1], "the trial's own is one");
      assert.deepEqual([first!["action_index"], first!["attempt"], first!["fidelity"]], [
        0,
        1,
        "proxy",
      ]);
      assert.equal(first!["of_first"], true);
      const gates = await lab.sql`
        SELECT trial_id, gate, decision, g.action_index, attempt, g.artifact_id = a.artifact_id AS judged,
          parent_id = coalesce(before.artifact_id, base.artifact_id) AS goes_back, adjustment
        FROM gate_decisions g
        JOIN actions a USING (trial_id)
        LEFT JOIN actions before ON before.trial_id = g.trial_id
          AND before.action_index = a.action_index - 1
        JOIN trial_artifacts base ON base.trial_id = ${`${NAME}/t00`}
        WHERE a.action_index = g.action_index ORDER BY trial_id, gate_index`;
      const decided = gates.map((
        one,
      ) => [one["trial_id"], one["gate"], one["decision"], one["action_index"]]);
      assert.deepEqual(decided, [
        [trial_id, "verification", "pass", 0],
        [trial_id, "proxy_accuracy", "pass", 0],
        [trial_id, "verification", "pass", 1],
        [trial_id, "proxy_accuracy", "pass", 1],
        [`${NAME}/t02`, "verification", "pass", 0],
        [`${NAME}/t02`, "proxy_accuracy", "abort", 0],
      ]);
      for (const { attempt, judged, goes_back, adjustment } of gates) {
        assert.deepEqual([attempt, judged, goes_back, adjustment], [1, true, true, null]);
      }
      const counts = await lab.sql`
        SELECT trial_id, count(*) AS n FROM samples GROUP BY ALL ORDER BY ALL`;
      assert.deepEqual(counts.map((one) => one["trial_id"]), [`${NAME}/t00`, trial_id]);
      assert.equal(counts[0]!["n"], counts[1]!["n"], "those of an action are not the trial's");
    });

    await t.step(
      "the report says that it was driven by hand, and why the gate stopped",
      async () => {
        await using lab = await openLab({ store });
        const report = renderMarkdown(reportBlocks(await lab.view(NAME)));
        assert.match(report, /Ended: The study was driven by hand and closed/);
        const told = /## Gates.*\n+(?<table>(?:\|.*\n)+)/.exec(report)?.groups?.["table"] ?? "";
        const rows = told.split("\n").slice(2, -1).map((row) =>
          row.split("|").map((c) => c.trim())
        );
        assert.deepEqual(rows.map((row) => [row[1], row[2], row[5], row[6]]), [
          ["t01", "1 of 2: magnitude", "proxy_accuracy", "pass"],
          ["t02", "1 of 2: rtn", "proxy_accuracy", "abort"],
        ]);
      },
    );

    await t.step("the coordinator goes on with the recipe that was left open", async () => {
      await using lab = await openLab({ store });
      const session = await lab.resume(NAME);
      const { trials, stop } = await session.run({ ask: silentAsk() });
      assert.equal(stop, "max_trials");
      const last = trials.at(-1)!;
      assert.deepEqual([trials.length, last.state], [5, "completed"], last.failure?.message);
      assert.equal(last.strategy?.actions[0]?.params["bits"], 8);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
