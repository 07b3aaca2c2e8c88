/** The requirement's three codecs on the tiny model: real workers, real gates. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { Handoff, type StageDecision } from "../../core/mod.ts";
import { exampleText } from "../../tracker/lab/read_document.ts";
import { runPare } from "../fixtures/programs.ts";

const pare = (words: string[]) => runPare(words, { PARE_QUIET_SECONDS: "0.1" });

/** The printed document on what the tiny model knows: its gates, retries and sizes as they are. */
function document(): Record<string, unknown> {
  const whole = parse(exampleText()) as Record<string, unknown>;
  const { experts: _, ethics: __, edge_of_chaos: ___, levels: ____, ...kept } = whole;
  return {
    ...kept,
    model_name: "tiny",
    dataset: "tiny",
    core: ["tiny_words"],
    experts: { words: ["tiny_words"] },
    critical: { core: 0, expert_drop: 1 }, // every stage is to have its turn
    stages: (whole["stages"] as Record<string, unknown>[]).map((stage) => ({
      ...stage,
      when_failed: "next",
    })),
    samples: { first: 50, most: 200 },
  };
}

Deno.test("the document of three codecs runs to its end, and what is shipped is what was measured", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pare-stages-"));
  try {
    const [file, store, output] = ["study.yaml", "store", "out"].map((one) => join(folder, one));
    await writeFile(file!, stringify(document()));
    const run = await pare(["stages", file!, "--store", store!, "--output", output!, "--yes"]);
    assert.equal(run.exitCode, 0, `${run.stdout}\n${run.stderr}`);
    assert.match(run.stdout, /Forecast:/);
    const shown = await pare(["stages", "show", "--store", store!, "--json"]);
    const ledger: StageDecision[] = JSON.parse(shown.stdout);
    const attempts = ledger.filter(({ about }) => about === "attempt");
    assert.deepEqual(
      [...new Set(attempts.map(({ stage }) => stage))],
      ["seedlm", "vptq", "hyper_compression"],
      run.stdout,
    );
    for (const { stage, attempt } of attempts) {
      const own = ledger.filter((row) => row.stage === stage && row.attempt === attempt);
      const core = own.find(({ about }) => about === "core");
      const size = own.find(({ about }) => about === "size")!;
      if (size.decision === "failed") {
        // A codec takes the place of the one before it: what is larger is not worth measuring.
        assert.ok(size.value! > size.threshold! && core === undefined, `${stage} ${attempt}`);
        assert.match(size.reason, /ratios do not multiply/);
        continue;
      }
      assert.ok(core !== undefined && core.value !== null, `${stage} ${attempt}: ${run.stdout}`);
      assert.equal(core.decision === "passed", core.value >= core.threshold! - 1e-9);
    }
    assert.ok(
      ledger.some(({ about, score }) => about === "core" && score !== null),
      "an attempt was measured",
    );
    const ship = ledger.find(({ decision }) => decision === "ship")!;
    const last = attempts.findLast(({ decision }) => decision === "advance");
    assert.equal(ship.stage, last?.stage ?? "original");
    const handoff = Handoff.parse(
      JSON.parse(await readFile(join(output!, "handoff.json"), "utf8")),
    );
    assert.equal(handoff.artifact_id, ship.to_artifact);
    assert.equal(handoff.ready_for_edge_deployment, last !== undefined);
    assert.ok((await stat(join(handoff.model, "config.json"))).size > 0);
    for (const { stage, attempt, ratio, formula_bytes, bytes } of handoff.sizes) {
      assert.ok(ratio < 6.25, `${stage} ${attempt}: ${ratio}`);
      if (formula_bytes !== null) {
        // The formula leaves out what a file says of its tensors, much of so small a model.
        const said = bytes - formula_bytes;
        assert.ok(said >= 0 && said < 20_000, `${stage}: ${bytes}, ${formula_bytes}`);
      }
    }
    assert.match(await readFile(join(output!, "handoff.html"), "utf8"), /Quality gates/);
    assert.match(await readFile(join(output!, "report.md"), "utf8"), /\(stages\.svg\)/);
    // Asked again it has ended: nothing is done twice, nothing is decided anew.
    const again = await pare(["resume", "--store", store!, "--output", output!]);
    const after = await pare(["stages", "show", "--store", store!, "--json"]);
    assert.deepEqual(JSON.parse(after.stdout), ledger, `${again.stdout}\n${again.stderr}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
