/** A kind of run is a folder: one that nobody knew passes through all of pare, no other file touched. */
import assert from "node:assert/strict";
import { execa } from "execa";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const ROOT = new URL("../../../", import.meta.url);
const LIST = new URL("core/runs/kinds.ts", ROOT).href;
const WITH_PARADE = new URL("tests/fixtures/runs/kinds_with_parade.ts", ROOT).href;

/** What the program prints that drives the made-up kind, its list of kinds in place of the shipped one. */
async function driven(folder: string) {
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const map = join(folder, "import_map.json");
  await writeFile(
    map,
    JSON.stringify({
      imports: { ...imports, [LIST]: WITH_PARADE },
      scopes: { [WITH_PARADE]: { [LIST]: LIST } }, // the one that adds to it
    }),
  );
  const program = fileURLToPath(new URL("tests/fixtures/runs/drive_parade.ts", ROOT));
  const args = ["run", "--quiet", "-A", "--check", `--import-map=${map}`, program];
  const { stdout } = await execa(Deno.execPath(), [...args, join(folder, "store")], {
    cwd: fileURLToPath(ROOT),
  });
  return JSON.parse(stdout);
}

Deno.test("a kind of run that nobody knew is asked, driven, recorded, asked in SQL and reported", () =>
  inDirectory(async (folder) => {
    const said = await driven(folder);
    assert.equal(said.request.kind, "parade", "a document without a kind has its own field");
    assert.deepEqual(said.resumed, said.request, "its plan is read back from the journal");
    const [misspelt, another, two, empty, unknown] = said.refused;
    assert.match(misspelt, /^study: Unknown kind of run "prade"\. Did you mean "parade"\?/);
    assert.match(another, /Cannot take parade in a run of kind "search": .*say kind: parade$/);
    assert.match(two, /Cannot tell which kind of run is meant with .*parade.*: .*leave one out$/);
    assert.match(empty, /"parade\.recipes": \[\] is refused/);
    assert.match(unknown, /Unknown field of parade "recipies"\. Did you mean "recipes"/);

    assert.equal(said.stop, "end_of_plan");
    assert.deepEqual(
      said.trials.map(({ number, state, fidelity }: Record<string, unknown>) => [
        ...[number, state, fidelity],
      ]),
      [[0, "completed", "full"], [1, "completed", "full"], [2, "completed", "full"]],
      "each recipe once, on the last rung alone, as it needs",
    );
    const [row] = said.rows;
    assert.deepEqual([row.kind, row.stop], ["parade", "end_of_plan"]);
    assert.equal(row.recommended, said.recommended);
    assert.deepEqual(said.summary, ["parade"]);

    assert.equal(said.recommended, "study/t02", "the smaller");
    assert.deepEqual(said.reasons, ["It is the smallest of the parade."]);
    const headings = [...said.report.matchAll(/^## (.*)$/gm)].map(([, text]) => text);
    assert.deepEqual(headings.at(-1), "Ask the data");
    assert.ok(headings.includes("Run it again") && !headings.includes("The front"), `${headings}`);
    assert.match(said.report, /smallest of the parade/);
    assert.ok(said.files.includes("pareto.svg"), "a front is drawn beside it, as it needs one");
    assert.ok(!said.files.includes("handoff.json"));
    assert.ok(said.tags && said.api);
    assert.match(said.schema, /"const":"parade"/);
  }));
