import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { figureText, openLab, planFigure, type ServingPlan } from "../../../tracker/mod.ts";
import { configOf } from "../../core/serving/plan/published.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("lab.plan() plans as the command line does, typed, and refuses a field that is none", () =>
  inDirectory(async (folder) => {
    await writeFile(join(folder, "config.json"), JSON.stringify(configOf("Qwen/Qwen3-8B")));
    await using lab = await openLab({ fresh: join(folder, "home"), notebook: false });
    const found: ServingPlan = await lab.plan({ model: folder, gpus: "2xL40S", context: 8192 });
    assert.equal(found.cache.bytes_per_token, 147_456);
    assert.equal(found.plans[0]!.context, 8192);
    assert.match(figureText(planFigure(found)), /L40S, TP 2/);
    const wrong = { model: folder, gpu: "H100" } as unknown as Parameters<typeof lab.plan>[0]; // as a cell may
    await assert.rejects(lab.plan(wrong), /Unknown field of a plan "gpu"\. Did you mean "gpus"/);
    await assert.rejects(
      lab.plan({ model: "t07", gpus: "H100" }),
      /does not exist|Unknown trial|nothing/,
    );
  }));
