import { escapeHtml, tableHtml } from "./table.js";

/**
 * A table or view, as its schema tells of it.
 * @typedef {object} ToldTable
 * @property {string} name
 * @property {string | null} comment
 * @property {readonly { name: string, type: string, comment: string | null }[]} columns
 */

const COLUMNS = [
  {
    heading: "column",
    cell: ({ name }) => ({ html: `<code>${escapeHtml(name)}</code>` }),
    numeric: false,
  },
  { heading: "type", cell: ({ type }) => type },
  { heading: "what it is", cell: ({ comment }) => comment ?? "" },
];

/**
 * What can be asked, a line each that a reader opens to see its columns.
 * @param {readonly ToldTable[]} tables
 * @returns {string}
 */
export function tablesHtml(tables) {
  return tables.map(({ name, comment, columns }) =>
    `<details><summary><code>${escapeHtml(name)}</code>${
      comment === null ? "" : `: ${escapeHtml(comment)}`
    }</summary>${
      tableHtml(COLUMNS, columns, {
        ...{ caption: `Columns of ${name}`, unseen: true, sortable: false },
      })
    }</details>`
  ).join("\n");
}
