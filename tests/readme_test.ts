/** What README.md and the pages of docs/ show must work as it stands: commands, queries, documents. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { StudyRequest } from "../core/mod.ts";
import { openStore } from "../tracker/store/store.ts";
import { inDirectory } from "./fixtures/stores/processes.ts";
import { studyOpened } from "./fixtures/stores/records.ts";

const ROOT = new URL("../", import.meta.url);
const PAGES = [
  "README.md",
  ...["docs", "docs/measurements"].flatMap((folder) =>
    [...Deno.readDirSync(new URL(folder, ROOT))].filter(({ name }) => name.endsWith(".md"))
      .map(({ name }) => `${folder}/${name}`).sort()
  ),
];
const TEXTS = new Map(PAGES.map((page) => [page, Deno.readTextFileSync(new URL(page, ROOT))]));
const ALL = [...TEXTS.values()].join("\n");
const { tasks } = JSON.parse(
  await Deno.readTextFile(new URL("../deno.json", import.meta.url)),
) as { tasks: Record<string, string> };

/** The text of every fenced block of a language. */
function blocks(language: string): string[] {
  return [...ALL.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))]
    .map((match) => match[1]!);
}

/** Commands of the shell blocks, one per line: continued lines and quoted line ends are joined. */
const commands = blocks("sh").join("\n").replaceAll("\\\n", " ")
  .replace(/"[^"]*"/g, (quoted) => quoted.replaceAll("\n", " "))
  .split("\n").map((line) => line.replace(/\s#.*$/, "").trim()).filter((line) => line !== "");

async function pare(...words: string[]): Promise<{ code: number; text: string }> {
  const cli = new URL("../tracker/cli.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", cli, ...words],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

Deno.test("documented shell blocks name tasks that there are", () => {
  const named = commands.map((line) => /deno task (\S+)/.exec(line)?.[1]).filter((name) =>
    name !== undefined
  );
  assert.ok(named.length > 20, `${named.length} commands found`);
  assert.deepEqual([...new Set(named)].filter((name) => tasks[name!] === undefined), []);
});

Deno.test("documented commands and their options are pare's", async () => {
  const used = new Map<string, Set<string>>();
  for (const line of commands) {
    const words = /npx -y deno task pare (.*)/.exec(line)?.[1]?.replace(/"[^"]*"|'[^']*'/g, "x")
      .split(/\s+/);
    if (words === undefined) continue;
    const first = ["store", "import", "mlflow", "queue", "judge"].includes(words[0]!) ? 2 : 1;
    const command = words.slice(0, first).join(" ");
    const options = words.filter((word) => word.startsWith("--"));
    used.set(command, new Set([...used.get(command) ?? [], ...options]));
  }
  assert.ok(used.size > 10, `${[...used.keys()]}`);
  for (const [command, options] of used) {
    const { code, text } = await pare(...command.split(" "), "--help");
    assert.equal(code, 0, `${command}: ${text}`);
    const known = new Set(text.match(/--[a-z][a-z-]*/g));
    assert.deepEqual([...options].filter((option) => !known.has(option)), [], command);
  }
});

Deno.test("documented questions in SQL are answered by a store", async () => {
  const questions = commands.flatMap((line) => {
    const [, double, single] = /pare sql (?:"([^"]+)"|'([^']+)')/.exec(line) ?? [];
    return double ?? single ?? [];
  });
  assert.ok(questions.length >= 4, `${questions.length} found`);
  await inDirectory(async (root) => {
    const store = await openStore(root, { write: true });
    await store.record(studyOpened());
    await store.close();
    for (const question of questions) {
      const bound = question.includes("$n") ? ["--param", "n=1"] : [];
      const { code, text } = await pare("sql", question, "--store", root, ...bound);
      assert.equal(code, 0, `${question}: ${text}`);
    }
  });
});

Deno.test("the documented study documents are some", () => {
  const documents = blocks("json");
  assert.equal(documents.length, 4);
  for (const text of documents) StudyRequest.parse(JSON.parse(text));
});

Deno.test("links between the pages lead somewhere, and README can be read in one sitting", () => {
  for (const [page, text] of TEXTS) {
    for (const [, link] of text.matchAll(/\]\((?!https?:)([^)#\s]+)\)/g)) {
      assert.ok(existsSync(new URL(link!, new URL(page, ROOT))), `${page} leads to ${link}`);
    }
  }
  const words = TEXTS.get("README.md")!.split(/\s+/).length;
  assert.ok(words <= 1500, `README has ${words} words`);
});
