import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { KINDS } from "../../core/mod.ts";
import { filesBelow, ROOT, SHIPPED } from "./sources.ts";

const NAMES = KINDS.map(({ name }) => name).join("|");
const FIELDS = KINDS.flatMap(({ plan }) => plan).join("|");
const NAME = `["'\`](?:${NAMES})["'\`]`;

/** Ways to ask which kind of run one has, each of which a property in its contract is there for. */
const ASKED: readonly RegExp[] = [
  new RegExp(`\\b(?:${FIELDS})["'\\])]* *[!=]==? *(?:undefined|null)\\b`, "g"),
  new RegExp(`\\b(?:request|asked|input|study|session|view)[!?]?\\.(?:${FIELDS})\\b`, "g"),
  new RegExp(`["'](?:${FIELDS})["'] in (?:request|asked|study)`, "g"),
  new RegExp(`\\bkind["'\\])]* *[!=]==? *${NAME}|${NAME} *[!=]==? *[\\w.]*\\bkind\\b`, "g"),
  new RegExp(`\\[ *${NAME}[^\\]]*\\]\\.includes\\([\\w.]*\\bkind\\b`, "g"),
  new RegExp(`\\bswitch \\([\\w.]*\\bkind\\) \\{\\s*case ${NAME}`, "g"),
  new RegExp(`\\bkindOf\\([^)]*\\) *[!=]==? `, "g"),
  new RegExp(`\\bkindOf\\([^)]*\\)\\.name *[!=]==? `, "g"),
];

/** The places of a text that ask so, comments apart. */
function asks(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, "");
  return ASKED.flatMap((way) => code.match(way) ?? []);
}

/** A kind's own folder knows what it is. */
const OWN = new RegExp(`^core/runs/(?:${NAMES})/`);

Deno.test("nobody asks which kind of run it is: its contract says what a run needs and shows", async () => {
  const files = (await filesBelow(SHIPPED, ".ts")).filter((file) => !OWN.test(file));
  assert.ok(files.length > 300, `only ${files.length} files were read`);
  const found: string[] = [];
  for (const file of files) {
    const places = asks(await readFile(join(ROOT, file), "utf8"));
    found.push(...places.map((place) => `${file}: ${place}`));
  }
  assert.deepEqual(found, [], "ask kindOf(request) for a property, or add one to the contract");
});

Deno.test("every folder of core/runs is a kind in the one list of them, under its own name", async () => {
  const entries = await readdir(join(ROOT, "core", "runs"), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name).sort();
  assert.deepEqual(folders, KINDS.map(({ name }) => String(name)).sort());
});

Deno.test("asks() sees the ways in which a kind was asked for, and none in what only sounds alike", () => {
  for (
    const way of [
      "if (request.evaluation !== undefined) return;",
      "const searched = stages === undefined && evaluation == null;",
      'view.request["stages"] === undefined',
      "request.stages?.stages",
      'if ("stages" in request) return;',
      'kindOf(request) === stages && request.kind === "stages"',
      '"search" !== run.kind',
      '["search", "stages"].includes(request.kind)',
      'switch (kind) {\n  case "evaluation":',
      'kindOf(request).name === "search"',
    ]
  ) assert.ok(asks(way).length > 0, way);
  assert.deepEqual(
    asks(
      'const { needs } = kindOf(request); // request.stages !== undefined\nif (text === "search") x;' +
        '\nfor (const one of plan.stages) y; stage.kind === "file"; study.spec.tasks',
    ),
    [],
  );
});
