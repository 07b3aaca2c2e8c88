/** The one table of every page: what it escapes, aligns and says, and how a reader sorts it. */
import assert from "node:assert/strict";
import { Event as PageEvent, parseHTML } from "linkedom";
import { bringTables, keepSorted } from "../../../tracker/show/pages/client/sort.js";
import { type Column, tableHtml } from "../../../tracker/show/pages/client/table.js";

interface Row {
  readonly name: string;
  readonly size: number | null;
}

const HOSTILE = `"><script>alert(1)</script>'`;
const ROWS: readonly Row[] = [
  { name: "b", size: 2e9 },
  { name: HOSTILE, size: null },
  { name: "a", size: 3e6 },
];
const COLUMNS: readonly Column<Row>[] = [
  { heading: HOSTILE, cell: ({ name }) => name, heads: true },
  { heading: "size", unit: "B", cell: ({ size }) => `${size ?? "–"}`, sort: ({ size }) => size },
  { heading: "text", cell: ({ size }) => size === null ? "–" : size > 1e9 ? "2 GB" : "3 MB" },
];

const page = (html: string) => parseHTML(`<html><body>${html}</body></html>`).document;
const pressed = (key: string) =>
  Object.assign(new PageEvent("keydown"), { key }) as unknown as Event;
const cells = (document: Document, column: number) =>
  [...document.querySelectorAll("tbody tr")].map((row) => row.children[column]!.textContent);

Deno.test("a table escapes whatever it is given, and says what its parts are", () => {
  const html = tableHtml(COLUMNS, ROWS, { caption: HOSTILE, trial: ({ name }) => name });
  assert.doesNotMatch(html, /<script/);
  const document = page(html);
  assert.equal(document.querySelectorAll("script").length, 0);
  assert.equal(document.querySelector("caption")!.textContent, HOSTILE);
  assert.equal(document.querySelector('[tabindex="0"]')!.getAttribute("aria-label"), HOSTILE);
  assert.equal(document.querySelectorAll('thead th[scope="col"]').length, 3);
  assert.equal(document.querySelectorAll('tbody th[scope="row"]').length, 3);
  assert.equal(document.querySelectorAll("tr")[2]!.getAttribute("data-trial"), HOSTILE);
  assert.equal(document.querySelectorAll("thead th")[1]!.textContent, "size (B)");
  // Numbers stand to the right whether their column says so by its keys or by its texts.
  const classes = [...document.querySelectorAll("tbody tr:first-child > *")].map((one) =>
    one.getAttribute("class")
  );
  assert.deepEqual(classes.map((one) => one ?? ""), ["", "number", "number"]);
  assert.match(tableHtml(COLUMNS, ROWS, { inline: true }), /<td style="text-align:right/);
});

Deno.test("a heading sorts by number and unit, nothing last either way, and by the keyboard", () => {
  const document = page(tableHtml(COLUMNS, ROWS, { caption: "t" }));
  bringTables(document);
  const heads = [...document.querySelectorAll<HTMLElement>("thead th")];
  for (const column of [1, 2]) {
    heads[column]!.click();
    assert.deepEqual(cells(document, 0), ["a", "b", HOSTILE]);
    assert.equal(heads[column]!.getAttribute("aria-sort"), "ascending");
    heads[column]!.dispatchEvent(pressed("Enter"));
    assert.deepEqual(cells(document, 0), ["b", "a", HOSTILE]);
    assert.equal(heads[column]!.getAttribute("aria-sort"), "descending");
  }
  assert.equal(heads[1]!.hasAttribute("aria-sort"), false, "one column at a time");
  // What comes in its place is sorted as the reader has it.
  const fresh = page(tableHtml(COLUMNS, [...ROWS, { name: "c", size: 5e9 }], { caption: "t" }));
  heads[1]!.click();
  keepSorted(document, fresh);
  assert.deepEqual(cells(fresh, 0), ["a", "b", "c", HOSTILE]);
  const still = page(tableHtml(COLUMNS, ROWS, { sortable: false }));
  bringTables(still);
  assert.equal(still.querySelector("thead th")!.hasAttribute("tabindex"), false);
});
