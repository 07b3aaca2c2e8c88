import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describedKnobs, type KnobDescription } from "../../core/mod.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { discoverPlugins } from "../../tracker/lab/discover.ts";

const FILE = join(PYTHON_ROOT, "pare_backends", "knobs.json");
const WRITE = "PARE_WRITE_KNOBS=1 deno test -A tests/plugins/knobs_file_test.ts && deno fmt";

/** A knob a line, which a change of one changes alone. */
function lines(declared: Record<string, readonly KnobDescription[]>): string {
  const methods = Object.entries(declared).map(([method, knobs]) =>
    `  "${method}": [\n${knobs.map((knob) => `    ${JSON.stringify(knob)}`).join(",\n")}\n  ]`
  );
  return `{\n${methods.join(",\n")}\n}\n`;
}

Deno.test("Python has every knob's default and range from its declaration", async () => {
  const { methods, runtimes } = await discoverPlugins([]);
  const entries = [
    ...methods.map(({ agent, method }) => [`${agent}/${method.name}`, method.knobs] as const),
    // Of a runtime's cache: `setting.py` of its folder.
    ...runtimes.flatMap(({ name, caches }) =>
      caches === undefined ? [] : [[`${name.replaceAll(".", "_")}/setting`, caches.knobs] as const]
    ),
  ].map(([name, knobs]) => [name, describedKnobs(knobs)] as const);
  const declared = Object.fromEntries(entries.toSorted(([a], [b]) => a < b ? -1 : 1));
  if (process.env["PARE_WRITE_KNOBS"] === "1") await writeFile(FILE, lines(declared));
  assert.deepEqual(
    JSON.parse(await readFile(FILE, "utf8")),
    declared,
    `${FILE} is not what the methods declare: ${WRITE} writes it anew`,
  );
});
