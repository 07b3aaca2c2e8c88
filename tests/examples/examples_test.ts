import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { homedir, hostname, userInfo } from "node:os";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../tracker/home.ts";
import { EXAMPLES, withoutPlaces } from "./make_examples.ts";

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

Deno.test("withoutPlaces() names the home of pare before the user's, which it lies in", () => {
  const home = join(homedir(), ".cache", "pare-of-a-test");
  const text = `${home}/artifacts ${homedir()}/x ${PROJECT_ROOT}/notebooks`;
  assert.equal(withoutPlaces(text, home), "~/.cache/pare/artifacts ~/x ./notebooks");
});
