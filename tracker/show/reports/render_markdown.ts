import type { Block } from "./blocks.ts";
import { withoutBox } from "../pages/sql_html.ts";

/** Markup in a name is text: a reader of Markdown would take it for a page's. Code stays as it is. */
function escaped(text: string): string {
  return text.split(/(`[^`]*`)/).map((part, at) =>
    at % 2 === 1 ? part : part.replaceAll(/<(?=[a-z/!?])/gi, "\\<")
  ).join("");
}

function cell(text: string): string {
  return escaped(text).replaceAll("|", "\\|").replaceAll("\n", " ");
}

function renderBlock(block: Block): string {
  switch (block.block) {
    case "heading":
      return `${"#".repeat(block.level)} ${escaped(block.text)}`;
    case "paragraph":
      return escaped(block.text);
    case "list":
      return block.items.map((item) => `- ${escaped(item)}`).join("\n");
    case "table": {
      const lines = [block.head, block.head.map(() => "---"), ...block.rows];
      const body = lines.map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");
      return block.note === undefined ? body : `${body}\n\n${escaped(block.note)}`;
    }
    case "code":
      return `\`\`\`${block.language}\n${block.text}\n\`\`\``;
    case "terms":
      return block.terms.map(([term, words]) => `- **${term}**: ${escaped(words)}`).join("\n");
    case "search":
    case "weights":
      return "";
    case "sql":
      return withoutBox(block.study_id);
    case "fold":
      return `### ${escaped(block.summary)}\n\n${block.blocks.map(renderBlock).join("\n\n")}`;
    case "figure":
      return `![${escaped(block.caption)}](${block.file})\n\n*${escaped(block.caption)}*`;
  }
}

/** The report as Markdown; figures are linked by their file names. */
export function renderMarkdown(blocks: readonly Block[]): string {
  const shown = blocks.map(renderBlock).filter((text) => text !== "");
  return `${shown.join("\n\n")}\n`;
}
