import assert from "node:assert/strict";
import { parseHTML } from "linkedom";
import { bringFind, keepFound } from "../../../tracker/show/pages/client/find.js";

const PART = `<p hidden><input type="search" data-pare-find> <span data-pare-found></span></p>
  <table data-pare-sortable><tbody><tr><td>one model</td></tr><tr><td>two models</td></tr></tbody></table>`;

function part() {
  const { document, Event } = parseHTML(`<html><body>${PART}</body></html>`);
  bringFind(document);
  const field = document.querySelector("input")!;
  const type = (words: string) => {
    field.value = words;
    field.dispatchEvent(new Event("input"));
  };
  const hidden = () => [...document.querySelectorAll("tr")].map((row) => row.hidden === true);
  return { document, field, type, hidden };
}

Deno.test("rows without all the words are hidden, and the field is kept when a page is refreshed", () => {
  const { document, type, hidden } = part();
  assert.equal(document.querySelector("p[hidden]"), null, "a field that works is shown");
  type("MODELS two");
  assert.deepEqual(hidden(), [true, false]);
  assert.equal(document.querySelector("[data-pare-found]")!.textContent, "1 of 2 rows");
  const { document: fresh } = parseHTML(`<html><body>${PART}</body></html>`);
  keepFound(document, fresh);
  bringFind(fresh);
  assert.deepEqual([...fresh.querySelectorAll("tr")].map((row) => row.hidden === true), [
    true,
    false,
  ]);
  type("");
  assert.deepEqual(hidden(), [false, false]);
});
