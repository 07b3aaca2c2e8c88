import type { Block } from "./blocks.ts";

const STYLE = `
  :root { color-scheme: light; --ink: #1f2933; --soft: #52606d; --line: #d9e2ec; --mark: #f0f4f8; }
  body { font: 15px/1.55 "DejaVu Sans", "Segoe UI", system-ui, sans-serif; color: var(--ink);
    background: white; max-width: 1180px; margin: 40px auto 80px; padding: 0 24px; }
  h1 { font-size: 27px; margin: 0 0 8px; } h2 { font-size: 19px; margin: 36px 0 8px; }
  h3 { font-size: 16px; margin: 24px 0 6px; }
  p, ul { max-width: 78ch; } .note, figcaption { color: var(--soft); font-size: 13px; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
  th, td { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line);
    vertical-align: top; }
  th { font-weight: 600; border-bottom-color: var(--soft); white-space: nowrap; }
  .number { text-align: right; white-space: nowrap; }
  pre { background: var(--mark); padding: 12px 14px; overflow-x: auto; border-radius: 6px;
    font-size: 13px; } figure { margin: 20px 0; } figure svg { max-width: 100%; height: auto; }
  @media (max-width: 640px) {
    figure { overflow-x: auto; } figure svg { max-width: none; }
  }
`;

/** Text that cannot be taken for markup. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Escaped text in which `code` between backticks and **bold** are kept. */
function inline(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
}

const NUMBER = /^[−-]?[\d.,]+( ?[%×a-zA-Z/]{0,10})?( ± [\d.]+)?$/;

/** Columns whose cells are numbers, or – where there is none. */
function numericColumns({ head, rows }: Extract<Block, { block: "table" }>): boolean[] {
  return head.map((_, column) => {
    const cells = rows.map((row) => (row[column] ?? "").trim()).filter((cell) => cell !== "–");
    return cells.length > 0 && cells.every((cell) => NUMBER.test(cell));
  });
}

function tableRow(cells: readonly string[], tag: "th" | "td", numeric: readonly boolean[]): string {
  const made = cells.map((text, column) =>
    `<${tag}${numeric[column] ? ' class="number"' : ""}>${inline(text)}</${tag}>`
  );
  return `<tr>${made.join("")}</tr>`;
}

function renderBlock(block: Block): string {
  switch (block.block) {
    case "heading":
      return `<h${block.level}>${inline(block.text)}</h${block.level}>`;
    case "paragraph":
      return `<p>${inline(block.text)}</p>`;
    case "list":
      return `<ul>${block.items.map((item) => `<li>${inline(item)}</li>`).join("")}</ul>`;
    case "table": {
      const numeric = numericColumns(block);
      const head = tableRow(block.head, "th", numeric);
      const rows = block.rows.map((row) => tableRow(row, "td", numeric)).join("\n");
      const note = block.note === undefined ? "" : `<p class="note">${inline(block.note)}</p>`;
      return `<div class="scroll"><table><thead>${head}</thead><tbody>\n${rows}\n` +
        `</tbody></table></div>${note}`;
    }
    case "code":
      return `<pre><code>${escapeHtml(block.text)}</code></pre>`;
    case "figure":
      return `<figure>${block.svg}<figcaption>${inline(block.caption)}</figcaption></figure>`;
  }
}

/** One page that needs nothing else: no script, no font, no request. */
export function renderHtml(title: string, blocks: readonly Block[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${blocks.map(renderBlock).join("\n")}
</body>
</html>
`;
}
