import assert from "node:assert/strict";
import { openLab } from "../../../tracker/mod.ts";
import { sqlRows } from "../../../tracker/show/notebook/sql_rows.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

/** What the Deno kernel shows for a cell's last value. */
function shown(value: object): Promise<Record<string, string>> {
  const display = (value as Record<symbol, () => Promise<Record<string, string>>>)[
    Symbol.for("Jupyter.display")
  ];
  return display!.call(value);
}

Deno.test("lab.sql binds its values and gives rows that a notebook shows as a table", () =>
  inDirectory(async (root) => {
    await using lab = await openLab({ store: root });
    await assert.rejects(lab.sql`SELECT 1`, /nothing is recorded there yet/);
    await using _store = await recordedStore(root, studyRecords());
    const hostile = `${STUDY}' OR true --`;
    assert.deepEqual(await lab.sql`SELECT * FROM trials WHERE study_id = ${hostile}`, []);
    const rows = await lab.sql<{ number: number; seconds: number; bad: number; when: Date }>`
      SELECT number, seconds, 'nan'::DOUBLE AS bad, [1, NULL] AS list, '<b>' AS "<i>",
        started_at AS when, 0.1 + ${0.2} AS sum
      FROM trials WHERE study_id = ${STUDY} AND number >= ${2} ORDER BY number`;
    assert.deepEqual(rows.map(({ number }) => number), [2, 3]);
    assert.ok(Number.isNaN(rows[0]!.bad) && rows[0]!.when instanceof Date);
    assert.deepEqual(rows.columns.map(({ type }) => type).slice(0, 4), [
      "BIGINT",
      "DOUBLE",
      "DOUBLE",
      "INTEGER[]",
    ]);
    const { "text/html": html, "text/plain": text } = await shown(rows);
    assert.match(html!, /<th[^>]*>&lt;i&gt;<\/th>/);
    assert.match(html!, /<td [^>]*data-key="&lt;b&gt;">&lt;b&gt;<\/td>/);
    assert.match(html!, /<td[^>]*text-align:right[^>]*>NaN<\/td>/);
    assert.match(html!, /<td[^>]*>\[1,null\]<\/td>/);
    assert.match(html!, /<td[^>]*>2026-03-01 12:00:00<\/td>/);
    assert.match(
      html!,
      /<td[^>]*data-key="0.30000000000000004"[^>]*>0.3<\/td>/,
      "sorted unrounded",
    );
    assert.match(html!, /2 rows/);
    assert.match(text!, /number +seconds +bad/);
  }));

Deno.test("sqlRows() draws the first rows of a long answer, keeps all, and says both", async () => {
  const result = {
    columns: [{ name: "n", type: "BIGINT" }],
    rows: Array.from({ length: 300 }, (_, n) => ({ n: n === 0 ? null : n })),
    capped: true,
    stale: "process 1 has it",
  };
  const rows = sqlRows(result);
  assert.deepEqual([...rows], result.rows);
  assert.deepEqual(Object.keys(rows).length, 300);
  const { "text/html": html } = await shown(rows);
  assert.equal(html!.match(/<tr>/g)?.length, 201);
  assert.match(html!, /drawn: the first 200.*first 300 rows; there are more/);
  assert.match(html!, /NULL<\/td>/);
  assert.match(html!, /process 1 has it/);
});
