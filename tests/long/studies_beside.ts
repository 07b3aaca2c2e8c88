/**
 * One report over studies that really ran: on one model and one dataset their recommended trials are
 * paired sample by sample; with a study of another model nothing is, and the report says so.
 */
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { createBackendClient } from "../../python-backends/client.ts";
import { type Lab, openLab, silentAsk } from "../../tracker/mod.ts";
import { mediaOf } from "../tracker/show/notebook/world_session.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { trainedTinyModel } from "../tiny_model.ts";

/** A study of one recipe that rounds the weights. */
async function rounded(lab: Lab, name: string, model_name: string, bits: number): Promise<void> {
  const params = { bits, group_size: 32 };
  const strategies = [{ actions: [{ agent: "quantization", method: "rtn", params }] }];
  const study = await lab.open({
    ...{ model_name, dataset: "tiny", strategies, max_trials: 1 },
    // Whatever is lost, the smaller file is recommended: where packed weights are only emulated, memory is
    // weighed by bytes on disk, which no machine's load moves.
    ...{ runtime: "transformers", constraints: { max_accuracy_drop: 1 } },
    objectives: { accuracy: 0, memory: 1 },
  }, name);
  await study.run({ ask: silentAsk(), signal: new AbortController().signal });
}

/** The tiny model with other positions: of its shape and bytes, and another model. */
async function otherModel(root: string): Promise<string> {
  const client = createBackendClient({ home: join(root, "home") });
  const folder = join(root, "other");
  await cp(await trainedTinyModel(client), folder, { recursive: true });
  await client.close();
  const path = join(folder, "config.json");
  const config = JSON.parse(await Deno.readTextFile(path));
  await Deno.writeTextFile(path, JSON.stringify({ ...config, rms_norm_eps: 1e-3 }, null, 2));
  return folder;
}

Deno.test("two studies of one model are paired by their samples, one of another model is not", () =>
  inDirectory(async (root) => {
    await using lab = await openLab({ store: join(root, "store") });
    await rounded(lab, "eight", "tiny", 8);
    await rounded(lab, "four", "tiny", 4);
    await rounded(lab, "elsewhere", await otherModel(root), 8);
    const folder = join(root, "out");
    const shown = await lab.report(["eight", "four"], { folder });
    const [page, markdown, csv, front] = await Promise.all(
      shown.files.map((one) => Deno.readTextFile(one)),
    );
    assert.equal(shown.files.length, 4);
    assert.equal(page, shown.html);
    const said = /four\/t01 against eight\/t01: (.*)/.exec(markdown!)?.[1] ?? markdown!;
    const paired = [
      ...said.matchAll(
        /(\w+), \w+: ([+-]?[\d.e-]+) \[([+-]?[\d.e-]+), ([+-]?[\d.e-]+)\], paired by (\d+) samples/g,
      ),
    ];
    assert.ok(paired.length > 0, said);
    const rows = await lab.sql<{ task: string; difference: number; n: number }>`
      SELECT task, avg(difference) AS difference, count(*) AS n
      FROM sample_pairs('eight/t01', 'four/t01') WHERE fidelity = 'full' GROUP BY task`;
    for (const [, task, difference, low, high, n] of paired) {
      const own = rows.find((row) => row.task === task);
      if (own === undefined) continue; // text is compared by its perplexity
      assert.equal(Number(n), Number(own.n), task);
      assert.ok(Math.abs(Number(difference) - own.difference) < 5e-3, `${task} ${difference}`);
      assert.ok(Number(low) <= Number(difference) && Number(difference) <= Number(high));
    }
    assert.ok(rows.length > 0);
    assert.match(markdown!, /## Front 1: eight, four/);
    assert.match(front!, /1\/t01[\s\S]*2\/t01/);
    assert.equal(csv!.trim().split("\n").length, 3);
    const { "text/plain": text, "text/html": html } = await mediaOf(shown);
    assert.match(text!, /Report over 2 studies\neight +t01: rtn/);
    assert.match(html!, /<iframe srcdoc="&lt;!doctype html/);

    const apart = (await lab.report(["eight", "elsewhere"])).html;
    assert.match(apart, /Nothing of quality is comparable between these studies/);
    assert.match(apart, /Quality of eight and elsewhere: their models differ/);
    assert.doesNotMatch(apart, /paired by \d+ samples|<h2[^>]*>Front/);
    assert.deepEqual((await lab.report(["eight", "elsewhere"])).files, []);
    const shot = Deno.env.get("PARE_SHOT");
    if (shot !== undefined) await cp(folder, shot, { recursive: true });
  }));
