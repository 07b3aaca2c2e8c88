/** One report over several studies: what is compared, what is left out and why. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { JournalRecord } from "../../../core/mod.ts";
import { renderHtml } from "../../../tracker/show/reports/render_html.ts";
import { renderMarkdown } from "../../../tracker/show/reports/render_markdown.ts";
import { pareto } from "../../../tracker/show/plots/figures/pareto.ts";
import { comparableGroups } from "../../../tracker/show/reports/studies/common_front.ts";
import type { StudyBeside } from "../../../tracker/show/reports/studies/study_beside.ts";
import { studiesCsv, studiesReport } from "../../../tracker/show/reports/studies/studies_report.ts";
import { writeStudiesReport } from "../../../tracker/show/report_of_studies.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { viewStudy } from "../../../tracker/show/view/view_study.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { measurement, studyRecords } from "../../fixtures/stores/records.ts";

const HOSTILE = `"><script>alert(1)</script>`;

/** A study's records with other facts. */
function study(
  id: string,
  change: (opened: Extract<JournalRecord, { type: "study_opened" }>) => JournalRecord = (one) =>
    one,
): JournalRecord[] {
  return studyRecords(id).map((record) => record.type === "study_opened" ? change(record) : record);
}

Deno.test("a report over studies compares what is the same, and says what it leaves out", () =>
  inDirectory(async (root) => {
    await using store = await openStore(join(root, "store"), { write: true });
    const other = study("other-machine", (one) => ({
      ...one,
      facts: { ...one.facts, device: { ...one.facts.device, device_name: HOSTILE } },
    }));
    const larger = study("larger", (one) => ({
      ...one,
      facts: { ...one.facts, model: { ...one.facts.model, original_bytes: 900_000 } },
    }));
    const empty = [study("empty")[0]!];
    for (const record of [...study("one"), ...other, ...larger, ...empty]) {
      if (record.type !== "samples_written") await store.record(record);
    }
    await store.flush();
    const of = async (id: string, protocol: string | null) => ({
      view: await viewStudy(store, id),
      protocol,
    });
    const one = await of("one", "words aa");
    const machine = await of("other-machine", "words aa");
    const bigger = await of("larger", "words aa");
    const began = await of("empty", null);
    const all = [one, machine, bigger, began];
    assert.deepEqual(
      comparableGroups(all).map((group) => group.map(({ view }) => view.study_id)),
      [["one", "other-machine"]],
    );
    assert.deepEqual(comparableGroups([one, { ...machine, protocol: "words bb" }]), []);
    const blocks = studiesReport(all, [], "A. Author", pareto);
    const text = renderMarkdown(blocks);
    assert.match(text, /Front 1: one, other-machine/);
    assert.match(
      text,
      /Latency is left out: the machines or runtimes differ\. Energy is left out: the machines/,
    );
    assert.match(text, /Quality of one and larger: their models differ\./);
    assert.match(text, /Quality of one and empty: a baseline has no recorded samples\./);
    assert.match(text, /Latency and energy of one and other-machine: machine or runtime differ\./);
    assert.match(text, /\| empty \| none \|/);
    assert.doesNotMatch(text, /NaN|undefined/);
    assert.doesNotMatch(text, /(?<!\\)<script/);
    assert.doesNotMatch(renderHtml("x", blocks), /<script>alert/);
    const same = renderMarkdown(
      studiesReport(
        [one, { ...one, view: { ...one.view, study_id: "two" } }],
        [],
        undefined,
        pareto,
      ),
    );
    const { constraints } = one.view.spec;
    const stricter = { ...one.view.spec, constraints: { ...constraints, max_size_gb: 0.3 } };
    const asked = [one, { ...one, view: { ...one.view, study_id: "two", spec: stricter } }];
    assert.match(
      renderMarkdown(studiesReport(asked, [], undefined, pareto)),
      /\| constraints \| .* \| .*; size at most 0\.3 GB \|/,
    );
    assert.doesNotMatch(same, /\| constraints \|/);
    assert.match(same, /latency \/ baseline \|\n/);
    assert.doesNotMatch(same, /Latency is left out/);
    assert.match(same, /Energy is left out: it was estimated, or not measured\./);
    const read = ({ view, protocol }: StudyBeside, id: string, of: readonly number[]) => ({
      protocol,
      view: {
        ...view,
        study_id: id,
        trials: view.trials.map((trial, at) => ({
          ...trial,
          measurements: at === 0 ? trial.measurements : [
            ...trial.measurements,
            measurement("energy_ratio", of[at - 1]!, { runtime: "openvino", unit: "1" }),
          ],
        })),
      },
    });
    const metered = studiesReport(
      [read(one, "metered", [0.5, 0.625, 0.5]), read(one, "metered-too", [0.75, 0.875, 0.75])],
      [],
      undefined,
      pareto,
    );
    const told = renderMarkdown(metered);
    assert.match(told, /bytes, latency and energy, each over its study's own baseline/);
    assert.match(told, /\| 1: metered \| t01 \|.*\| 0\.500 \|\n/);
    assert.doesNotMatch(told, /2: metered-too \| t01/, "its energy is more, all else the same");
    const [drawing] = metered.flatMap((block) => block.block === "figure" ? [block] : []);
    assert.match(drawing!.svg, /energy, × the baseline/);
    assert.match(drawing!.svg, />2: metered-too</, "a legend tells the studies");
    assert.doesNotMatch(drawing!.svg, /NaN|undefined/);
    const mixed = renderMarkdown(
      studiesReport([read(one, "metered", [0.5, 0.6, 0.5]), one], [], "", pareto),
    );
    assert.match(mixed, /Energy is left out: 3 of the 6 compressed trials lack it/);
    assert.equal(studiesCsv(all).trim().split("\n").length, 5);

    // As the store has them: no samples were kept, so that nothing is comparable, and that is said.
    const folder = join(root, "out");
    const files = await writeStudiesReport(store, ["one", "larger"], folder);
    assert.deepEqual(files.map((file) => file.slice(folder.length + 1)), [
      "report.html",
      "report.md",
      "studies.csv",
    ]);
    assert.match(await Deno.readTextFile(files[1]!), /Nothing of quality is comparable/);
    await assert.rejects(writeStudiesReport(store, ["one", "one"], folder), /each once/);
    await assert.rejects(writeStudiesReport(store, ["one", "on"], folder), /Did you mean/);
    const shot = Deno.env.get("PARE_SHOT");
    if (shot !== undefined) await Deno.writeTextFile(shot, renderHtml("Studies", blocks));
  }));
