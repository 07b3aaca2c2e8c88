/** A study that a notebook runs is published, and a stranger with an empty home runs a trial again. */
import assert from "node:assert/strict";
import { execa } from "execa";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pareHome } from "../../python-backends/home.ts";
import { PROJECT_ROOT } from "../../tracker/ground/home.ts";
import { openLab, openStore, silentAsk, writeReport } from "../../tracker/mod.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { runPare } from "../fixtures/programs.ts";

const WORDS = ["the red fox", "the old owl", "a grey hare", "the young wolf"];
const rows = Array.from(
  { length: 24 },
  (_, i) => `${JSON.stringify({ prompt: `${i} ${WORDS[i % 4]}`, answer: "den" })}\n`,
);

/** A home of somebody else: Python environments alone, which take minutes to make. */
async function strangersHome(folder: string): Promise<string> {
  const home = join(folder, "stranger");
  await mkdir(home);
  await symlink(join(pareHome(), "envs"), join(home, "envs"));
  return home;
}

Deno.test("what a notebook's study publishes is enough for a stranger, and what is changed is refused", async (t) => {
  const folder = temporaryFolder("published");
  const own = join(folder, "own.jsonl");
  await writeFile(own, rows.join(""));
  const store = join(folder, "author", "store");
  const published = join(folder, "published");
  await t.step("the notebook's report has what the command line's has", async () => {
    await using lab = await openLab({ store });
    const study = await lab.open({
      ...{ model_name: "tiny", dataset: own, max_trials: 1, samples: { full: 24 } },
      strategies: [{ actions: [{ agent: "quantization", method: "rtn", params: { bits: 8 } }] }],
    }, "shared");
    await study.run({ ask: silentAsk() });
    const report = join(folder, "report");
    const { files } = await writeReport(lab, "shared", { folder: report });
    for (
      const name of [
        "study.json",
        "recorded.json",
        "reproduce.sh",
        "locks/default/requirements.txt",
      ]
    ) {
      assert.ok(files.includes(join(report, name)), name);
    }
    assert.match(await readFile(join(report, "report.md"), "utf8"), /sh FOLDER\/reproduce\.sh/);
  });

  const made = await runPare(["publish", "shared", published, "--store", store]);
  assert.equal(made.exitCode, 0, made.stderr);
  const home = await strangersHome(folder);
  const again = (from: string, ...more: string[]) =>
    execa("sh", [join(from, "reproduce.sh"), "t01", "--model", "tiny", ...more], {
      ...{ cwd: PROJECT_ROOT, env: { NO_COLOR: "1", PARE_HOME: home }, reject: false },
      stdin: "ignore",
    });

  await t.step("reproduce.sh gives the same bytes and answers, and rows in SQL", async () => {
    const { exitCode, stdout, stderr } = await again(published, "--dataset", own);
    // Times and energy may differ beside other work: then it is said, and the exit code is 1.
    assert.ok(exitCode === 0 || exitCode === 1, `${stdout}\n${stderr}`);
    await using there = await openStore(join(home, "store"), { write: false });
    const { rows: drift } = await there.query(`
      SELECT metric, verdict, recorded, again FROM drift WHERE trial_id = 'shared/t01'
      AND metric IN ('artifact', 'answers', 'accuracy', 'size_bytes')`);
    assert.ok(drift.length >= 4, JSON.stringify(drift));
    const { rows: costs } = await there.query(
      "SELECT DISTINCT metric FROM drift WHERE verdict = 'different'",
    );
    for (const { metric } of costs) {
      assert.match(String(metric), /latency|prefill|decode|energy|co2|memory/, stdout);
    }
    for (const one of drift) assert.equal(one["verdict"], "equal", JSON.stringify(one));
  });

  await t.step(
    "other data, another model and a changed file are refused, each with its hash",
    async () => {
      const other = join(folder, "other.jsonl");
      await writeFile(other, rows.slice(1).join(""));
      const data = await again(published, "--dataset", other);
      assert.equal(data.exitCode, 2);
      assert.match(
        data.stderr,
        /not the file that was measured: its sha256 must be [0-9a-f]{64}, it is/,
      );

      const tampered = join(folder, "tampered");
      await cp(published, tampered, { recursive: true });
      const path = join(tampered, "recorded.json");
      const recorded = await readFile(path, "utf8");
      const study = JSON.parse(recorded) as { model: { path: string; sha256: string }[] };
      await writeFile(path, recorded.replace(/"cores": "\d+"/, '"cores": "3"'));
      const sums = await again(tampered, "--dataset", own);
      assert.equal(sums.exitCode, 2);
      assert.match(sums.stderr, /is not as it was published/);

      const weights = study.model.find((file) => file.path.endsWith(".safetensors"))!;
      await writeFile(path, recorded.replaceAll(weights.sha256, "0".repeat(64)));
      const from = ["reproduce", "--from", tampered, "t01", "--model", "tiny", "--dataset", own];
      const model = await runPare(from, { PARE_HOME: home });
      assert.equal(model.exitCode, 2);
      assert.match(
        model.stderr,
        /the model here is another: the sha256 of .* must be 0{64}, it is/,
      );
    },
  );
});
