import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { homedir, hostname, userInfo } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { PROJECT_ROOT } from "../../tracker/ground/home.ts";
import { svgToPng } from "../../tracker/show/plots/svg_to_png.ts";
import { type Cell, textOf } from "../fixtures/notebook_run.ts";
import { EXAMPLES, tidy, withoutPlaces } from "./make_examples.ts";

const NAMES = ["01_first_study.ipynb", "report.html"];

Deno.test("what visitors see holds no path, user or name of a machine", async () => {
  for (const name of NAMES) {
    const text = await readFile(join(EXAMPLES, name), "utf8");
    const paths =
      text.match(/(?:\/(?:home|root|Users|tmp|work|var|mnt)\/|[A-Z]:\\\\)[^\s"'<>\\]*/g) ?? [];
    assert.deepEqual(paths, [], name);
    for (
      const own of [PROJECT_ROOT, `${homedir()}/`, `@${hostname()}`, `${userInfo().username}@`]
    ) {
      assert.ok(!text.includes(own), `${name} holds ${own}`);
    }
  }
});

Deno.test("the notebook that visitors see is the one of notebooks/, run to its end", async () => {
  const read = async (path: string) =>
    JSON.parse(await readFile(path, "utf8")) as {
      cells: { cell_type: string; source: string[]; outputs?: { output_type: string }[] }[];
    };
  const shown = await read(join(EXAMPLES, "01_first_study.ipynb"));
  const own = await read(join(PROJECT_ROOT, "notebooks", "01_first_study.ipynb"));
  const sources = ({ cells }: typeof own) => cells.map(({ source }) => [source].flat().join(""));
  assert.deepEqual(sources(shown), sources(own), "make it again: deno task examples");
  const outputs = shown.cells.flatMap(({ outputs = [] }) => outputs);
  assert.ok(outputs.every(({ output_type }) => output_type !== "error"));
  assert.match(JSON.stringify(outputs), /"image\/png"/);
  assert.match(JSON.stringify(outputs), /image\/svg\+xml[\s\S]*<iframe/);
});

Deno.test("a bitmap that two cells show is kept once, the last time, and one without a drawing always", () => {
  const output = (png: string, svg?: string) => ({
    output_type: "display_data",
    data: { "image/png": png, ...(svg === undefined ? {} : { "image/svg+xml": svg }) },
  });
  const cell = (...outputs: ReturnType<typeof output>[]) => ({
    ...{ cell_type: "code", outputs, metadata: {} },
  });
  const { cells } = tidy({
    cells: [cell(output("a", "<svg/>"), output("b")), cell(output("a", "<svg/>"), output("b"))],
  });
  const bitmaps = cells.flatMap(({ outputs = [] }) =>
    outputs.map(({ data }) => data!["image/png"])
  );
  assert.deepEqual(bitmaps, [undefined, "b", "a", "b"]);
});

/** Fails where a PNG's parts are not those that it was written with. */
function checkPng(base64: string): void {
  assert.match(base64, /^[A-Za-z0-9+/]+={0,2}$/, "no base64");
  const png = Buffer.from(base64, "base64");
  assert.equal(png.toString("base64"), base64, "no whole base64");
  assert.equal(png.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
  const names: string[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const end = at + 8 + png.readUInt32BE(at);
    names.push(png.toString("latin1", at + 4, at + 8));
    assert.equal(
      png.readUInt32BE(end),
      crc32(png.subarray(at + 4, end)),
      `${names.at(-1)} at ${at}`,
    );
  }
  assert.deepEqual([names[0], names.at(-1)], ["IHDR", "IEND"]);
}

Deno.test("every picture that visitors see is whole", async () => {
  const notebook = JSON.parse(await readFile(join(EXAMPLES, NAMES[0]!), "utf8")) as {
    cells: Cell[];
  };
  const pictures = notebook.cells.flatMap(({ outputs = [] }) => outputs)
    .flatMap(({ data }) => textOf(data?.["image/png"]).replaceAll("\n", "") || []);
  const page = await readFile(join(EXAMPLES, NAMES[1]!), "utf8");
  const inPage = [...page.matchAll(/data:image\/png;base64,([^"')\s]*)/g)].map(([, text]) => text!);
  assert.ok(pictures.length >= 1, "the notebook has none");
  for (const picture of [...pictures, ...inPage]) checkPng(picture);
});

Deno.test("withoutPlaces() leaves bytes as they are, whatever the host is called", () => {
  const png = svgToPng('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>', 900);
  const base64 = Buffer.from(png).toString("base64");
  const text = `${"A".repeat(150)}/vm/${base64}`; // as it stood in a picture of a machine called vm
  const notebook = `{"image/png": "${text}", "text": "made on vm by vm2"}`;
  assert.equal(
    withoutPlaces(notebook, "/nowhere/pare", "vm"),
    `{"image/png": "${text}", "text": "made on this-machine by vm2"}`,
  );
  assert.throws(() => checkPng(base64.replace(/^(.{40})./, "$1/this-machine/")));
  checkPng(base64);
});

Deno.test("withoutPlaces() names the home of pare before the user's, which it lies in", () => {
  const home = join(homedir(), ".cache", "pare-of-a-test");
  const text = `${home}/artifacts ${homedir()}/x ${PROJECT_ROOT}/notebooks`;
  assert.equal(withoutPlaces(text, home), "~/.cache/pare/artifacts ~/x ./notebooks");
});
