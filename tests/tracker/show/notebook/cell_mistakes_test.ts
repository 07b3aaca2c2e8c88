/** A notebook's usual slips are sentences: a kernel shows the stack of all else. */
import assert from "node:assert/strict";
import { figures } from "../../../../tracker/show/plots/figures.ts";
import { openLab } from "../../../../tracker/mod.ts";
import { forCells } from "../../../../tracker/show/notebook/cell_mistakes.ts";
import { showPlot, showTable } from "../../../../tracker/show/notebook/show_study.ts";
import { UsageError } from "../../../../core/mod.ts";
import { temporaryFolder } from "../../../temporary_folder.ts";
import { mediaOf, worldSession } from "./world_session.ts";

// deno-lint-ignore no-explicit-any -- a notebook's cells are not checked for types
const cellsSession = (): any => forCells("study", worldSession().session);

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof UsageError && pattern.test(error.message);

Deno.test("a name that there is not is told with the nearest, and what there is stays as it was", async () => {
  const [study, plain] = [cellsSession(), worldSession().session];
  assert.throws(
    () => study.frnt(),
    refused(/Cannot take study\.frnt as there is no such name\. Did you mean front\(\)\?/),
  );
  assert.throws(() => study.fact, refused(/Did you mean facts\?/));
  assert.throws(() => study.zzz, refused(/no such name\. Known: byHand\(\), /));
  assert.deepEqual(Object.keys(study), Object.keys(plain), "completions list own names");
  assert.equal(await study, study, "it may be awaited");
  assert.equal(JSON.parse(JSON.stringify(study)).study_id, "study");
  assert.match(Deno.inspect(study), /study_id: "study"/);
  assert.deepEqual([study.schema, String(study)], [undefined, "[object Object]"]);
  assert.match((await mediaOf(study))["text/plain"]!, /Study study/);
});

Deno.test("what is asked of an answer that was not awaited is told, and awaited it is as ever", async () => {
  const study = cellsSession();
  const rows = study.trials();
  const said = (taken: string) =>
    refused(RegExp(`^Cannot take ${taken} of what study.+not awaited`));
  assert.throws(() => rows.length, said("\\.length"));
  assert.throws(() => rows.map(Number), said("\\.map"));
  assert.throws(() => [...rows], said("its rows"));
  assert.throws(() => figures.pareto(rows), said("\\.some"));
  assert.throws(() => showTable(rows), said("\\.rows"));
  assert.throws(() => showPlot(study.view()), said("\\.rows"));
  assert.ok(rows instanceof Promise);
  assert.match(Deno.inspect(rows), /Promise/);
  assert.deepEqual(await rows.then((all: object[]) => all.length).finally(() => {}), 0);
  assert.deepEqual(await Promise.all([rows]), [[]]);
  assert.match((await mediaOf(rows))["text/plain"]!, /nothing has run/, "a cell shows its rows");
});

Deno.test("sql called as a function says how it is written", async () => {
  await using lab = await openLab({ store: temporaryFolder("slips"), notebook: true });
  const { sql } = lab as unknown as { sql: (text: string) => Promise<unknown> };
  await assert.rejects(sql("SELECT 1"), refused(/write lab\.sql`SELECT …`, with backticks/));
  assert.throws(
    () => Reflect.get(lab, "stdies"),
    refused(/lab\.stdies .* Did you mean studies\(\)\?/),
  );
});
