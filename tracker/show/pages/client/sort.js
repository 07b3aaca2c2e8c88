/** Sorts the tables of a page by the heading that is clicked, or chosen and entered; again: the other way. */

const UNITS = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, h: 3600, min: 60 };

/** What a text is sorted by: its number where it begins with one, else its words. */
function textKey(text) {
  const plain = text.trim().replace(/^[−–]$/, "").replace("−", "-").replace(/^\+/, "");
  const found = /^(?:[a-z]?)(-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)\s*(kB|MB|GB|TB|h|min|s)?/.exec(
    plain,
  );
  return found === null ? plain : Number(found[1].replaceAll(",", "")) * (UNITS[found[2]] ?? 1);
}

/** What a cell is sorted by: the key that it was given, else its text; nothing: "". */
function keyOf(cell) {
  const key = cell?.dataset.key;
  if (key === undefined) return textKey(cell?.textContent ?? "");
  if (key === "" || key === "NaN") return "";
  return Number.isNaN(Number(key)) ? key : Number(key);
}

/** The order of two keys: numbers before words, nothing last, whichever way it is sorted. */
function compareKeys(a, b, down) {
  if (a === "" || b === "") return (a === "" ? 1 : 0) - (b === "" ? 1 : 0);
  const numbers = typeof a === "number";
  if (numbers !== (typeof b === "number")) return numbers ? -1 : 1;
  const order = numbers ? a - b : a.localeCompare(b);
  return down ? -order : order;
}

const headsOf = (table) => [...table.querySelectorAll("thead th")];

function sortBy(table, column, down) {
  const heads = headsOf(table);
  for (const one of heads) one.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.querySelector("tbody");
  const rows = [...body.children].map((row) => ({ row, key: keyOf(row.children[column]) }));
  rows.sort((a, b) => compareKeys(a.key, b.key, down));
  body.append(...rows.map(({ row }) => row));
}

/** Lets every table below the root that says so be sorted; one that is already is not bound twice. */
export function bringTables(root) {
  for (const table of root.querySelectorAll("table[data-pare-sortable]:not([data-bound])")) {
    table.setAttribute("data-bound", "");
    headsOf(table).forEach((head, column) => {
      const turn = () => sortBy(table, column, head.getAttribute("aria-sort") === "ascending");
      head.tabIndex = 0;
      head.title = "Sort by this column";
      head.style.cursor = "pointer";
      head.addEventListener("click", turn);
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        turn();
      });
    });
  }
}

/** Sorts the tables that came in the place of others as a reader had sorted those. */
export function keepSorted(before, after) {
  const name = (table) => table.querySelector("caption")?.textContent ?? "";
  for (const table of after.querySelectorAll("table[data-pare-sortable]")) {
    const old = [...before.querySelectorAll("table[data-bound]")]
      .find((one) => name(one) === name(table));
    const heads = old === undefined ? [] : headsOf(old);
    const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
    if (column >= 0) {
      sortBy(table, column, heads[column].getAttribute("aria-sort") === "descending");
    }
  }
}
