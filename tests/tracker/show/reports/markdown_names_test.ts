/** Names and notes in a report as Markdown: text, whatever marks of Markdown and HTML they hold. */
import assert from "node:assert/strict";
import { paragraph, table } from "../../../../tracker/show/reports/blocks.ts";
import { renderMarkdown } from "../../../../tracker/show/reports/render_markdown.ts";

const shown = (text: string) => renderMarkdown([paragraph(text)]).slice(0, -1);

Deno.test("markup and links of a name are text, also where it ends or begins code by itself", () => {
  const cases: [name: string, written: string][] = [
    ["a `<b>` c", "a `<b>` c"],
    ["``a ` <b>`` <b>", "``a ` <b>`` \\<b>"],
    ["<img src=x>", "\\<img src=x>"],
    ["<!-- x", "\\<!-- x"],
    ["1 < 2, [-1, 2] and \\d", "1 < 2, [-1, 2] and \\d"],
    ["\\<img>", "\\\\\\<img>"],
    // Of these a reader that counts marks otherwise than this page would make code end elsewhere.
    ["``` <img> `", "\\`\\`\\` \\<img> \\`"],
    ["\\` <img> `", "\\\\` <img> `"],
    ["` \n# <img> `", "\\` \n# \\<img> \\`"],
    ["a` <img>", "a\\` \\<img>"],
    ["[a](javascript:x)", "[a\\](javascript:x)"],
    ["![a](http://x/y.png)", "![a\\](http://x/y.png)"],
    ["[a][b]\n\n[b]: javascript:x", "[a\\][b]\n\n[b\\]: javascript:x"],
  ];
  for (const [name, written] of cases) assert.equal(shown(name), written, name);
});

Deno.test("a name ends neither its cell nor its code", () => {
  const cells = renderMarkdown([table(["a"], [["x | <b>\ny"]])]);
  assert.equal(cells.split("\n")[2], "| x \\| \\<b> y |");
  const text = "```\n<script>\n````\n";
  const code = renderMarkdown([{ block: "code", language: "python", text }]);
  assert.equal(code, `\`\`\`\`\`python\n${text}\n\`\`\`\`\`\n`);
  const terms = renderMarkdown([{ block: "terms", terms: [["<b>", "a"]] }]);
  assert.equal(terms, "- **\\<b>**: a\n");
});
