import type { Block } from "./blocks.ts";
import { withoutBox } from "../pages/sql_html.ts";

/** Backticks, with the code that they and as many others enclose on their line; without: they enclose none. */
const CODE = /(`+)(?:(?!`)([^\n]*?[^`\n])\1(?!`))?/g;

/** Of text that is no code: a mark before what would be markup, a link, or a mark itself. */
function plain(text: string): string {
  return text.replaceAll(/\\(?=[!-/:-@[-`{-~]|$)/g, "\\\\")
    .replaceAll(/<(?=[a-z/!?])/gi, "\\<")
    .replaceAll(/\](?=[([:])/g, "\\]");
}

/**
 * Markup and links in a name are text: a reader of Markdown would take them for a page's. Code stays as it
 * is, where every reader takes it for code: backticks without their like would open some further down.
 */
function escaped(text: string): string {
  let [done, at] = ["", 0];
  for (const { 0: found, 2: code, index } of text.matchAll(CODE)) {
    done += plain(text.slice(at, index));
    done += code === undefined ? found.replaceAll("`", "\\`") : found;
    at = index + found.length;
  }
  return done + plain(text.slice(at));
}

/** Code between marks that it cannot end. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([marks]) => marks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
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
      return fenced(block.text, block.language);
    case "terms":
      return block.terms.map(([term, words]) => `- **${escaped(term)}**: ${escaped(words)}`).join(
        "\n",
      );
    case "search":
    case "weights":
      return "";
    case "sql":
      return escaped(withoutBox(block.study_id));
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
