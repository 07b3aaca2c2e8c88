/**
 * Finds rows of a page's tables: those without the words of `<input type="search" data-pare-find>` are
 * hidden, and `[data-pare-found]` says how many are left. Tables are sorted as sort.js does.
 */
import { bringTables } from "./sort.js";

/** Hides what has not all the words; gives how many rows are left of how many. */
function find(root, words) {
  const rows = [...root.querySelectorAll("table[data-pare-sortable] tbody tr")];
  const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== "");
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !wanted.every((word) => text.includes(word));
  }
  return { left: rows.filter((row) => !row.hidden).length, all: rows.length };
}

if (typeof document !== "undefined") {
  bringTables(document);
  for (const field of document.querySelectorAll("input[data-pare-find]")) {
    const said = document.querySelector("[data-pare-found]");
    field.closest("[hidden]")?.removeAttribute("hidden");
    field.addEventListener("input", () => {
      const { left, all } = find(document, field.value);
      if (said !== null) said.textContent = field.value === "" ? "" : `${left} of ${all} rows`;
    });
  }
}
