/** The pages that a user reads are read once: short sentences, a first paragraph, no private words. */
import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);
const PAGES = [
  "README.md",
  ...[...Deno.readDirSync(new URL("docs", ROOT))].map(({ name }) => `docs/${name}`)
    .filter((name) => name.endsWith(".md")).sort(),
];
/** Words of a sentence at most; what stands in code counts as one word. */
const LONGEST = 30;
/** Words that only who wrote pare understands: strata are parts of a benchmark, foretold is predicted. */
const PRIVATE = /\b(strata|foretold|foretell\w*|askings|company)\b/i;

/** Paragraphs and items of lists, without tables, headings and code. */
function paragraphs(page: string): string[] {
  const text = page.replace(/^```.*?^```/gms, "\n\n").replace(/<!--.*?-->/gs, "\n\n");
  const found: string[][] = [[]];
  for (const line of text.split("\n")) {
    if (/^\s*(\||#|$|!\[)/.test(line)) found.push([]);
    else if (/^\s*([-*]|\d+\.)\s/.test(line)) found.push([line.replace(/^\s*\S+\s/, "")]);
    else found.at(-1)!.push(line.trim());
  }
  return found.map((lines) => lines.join(" ").trim()).filter((text) => text !== "");
}

function sentences(paragraph: string): string[] {
  const plain = paragraph.replace(/`[^`]*`/g, "Code").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
  return plain.split(/(?<=[.!?]\)?)[*_]*\s+(?=[A-Z*_("0-9]|pare\b)/);
}

const wordsOf = (sentence: string) =>
  sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

Deno.test(`no sentence of a user's page is above ${LONGEST} words`, () => {
  const long = PAGES.flatMap((page) =>
    paragraphs(Deno.readTextFileSync(new URL(page, ROOT))).flatMap(sentences)
      .filter((sentence) => wordsOf(sentence) > LONGEST)
      .map((sentence) => `${page}: ${wordsOf(sentence)} words: ${sentence}`)
  );
  assert.deepEqual(long, []);
  assert.equal(
    sentences(`One ${"word ".repeat(31)}. Two.`).filter((one) => wordsOf(one) > 30).length,
    1,
  );
});

Deno.test("a user's page begins with a paragraph, and has no private words", () => {
  const wrong = PAGES.flatMap((page) => {
    const text = Deno.readTextFileSync(new URL(page, ROOT));
    const [, first = ""] = text.split("\n").filter((line) => line.trim() !== "");
    const word = PRIVATE.exec(paragraphs(text).join("\n"));
    return [
      ...(/^[#|`-]/.test(first.replace(/^`[^`]/, ""))
        ? [`${page} begins with "${first.slice(0, 40)}"`]
        : []),
      ...(word === null ? [] : [`${page} says "${word[0]}"`]),
    ];
  });
  assert.deepEqual(wrong, []);
});
