/** Finds rows of a page's tables: those without the words of a field are hidden, and it is said how many are left. */

/** Hides what has not all the words; gives how many rows are left of how many. */
function hideRows(root, words) {
  const rows = [...root.querySelectorAll("table[data-pare-sortable] tbody tr")];
  const wanted = words.toLowerCase().split(/\s+/).filter((word) => word !== "");
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !wanted.every((word) => text.includes(word));
  }
  return { left: rows.filter((row) => !row.hidden).length, all: rows.length };
}

/**
 * Shows each `<input type="search" data-pare-find>` below the root, and lets it hide rows there;
 * `[data-pare-found]` says how many are left.
 */
export function bringFind(root) {
  for (const field of root.querySelectorAll("input[data-pare-find]")) {
    const said = root.querySelector("[data-pare-found]");
    const find = () => {
      const { left, all } = hideRows(root, field.value);
      if (said !== null) said.textContent = field.value === "" ? "" : `${left} of ${all} rows`;
    };
    field.closest("[hidden]")?.removeAttribute("hidden");
    field.addEventListener("input", find);
    if (field.value !== "") find();
  }
}

/** Gives the fields that came in the place of others the words that stood in those. */
export function keepFound(before, after) {
  const own = after.querySelectorAll("input[data-pare-find]");
  before.querySelectorAll("input[data-pare-find]").forEach((field, i) => {
    if (own[i] !== undefined) own[i].value = field.value;
  });
}
