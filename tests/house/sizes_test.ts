import assert from "node:assert/strict";
import { dirname } from "node:path";
import { filesBelow, parseTypeScript, python, SHIPPED, typeScript } from "./sources.ts";

const FOLDER_FILES = 20;
const FILE_LINES = 400;
const FUNCTION_LINES = 80;

Deno.test("no folder that ships has more than twenty source files", async () => {
  const counts = new Map<string, number>();
  for (const ending of [".ts", ".py"]) {
    for (const file of await filesBelow(SHIPPED, ending)) {
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    }
  }
  assert.ok(counts.size > 40, `only ${counts.size} folders were seen`);
  assert.deepEqual([...counts].filter(([, count]) => count > FOLDER_FILES), []);
});

Deno.test("no file has more than 400 lines", async () => {
  const all = [
    ...await typeScript([...SHIPPED, "tests"]),
    ...await python(["python-backends/pare_backends", "tests"]),
  ];
  assert.ok(all.length > 500, `only ${all.length} files were read`);
  assert.deepEqual(all.filter(([, { lines }]) => lines > FILE_LINES).map(([path]) => path), []);
});

Deno.test("no function that ships has more than 80 lines", async () => {
  const all = [...await typeScript(SHIPPED), ...await python(["python-backends/pare_backends"])];
  const long = all.flatMap(([path, { functions }]) =>
    functions.filter(([, lines]) => lines > FUNCTION_LINES)
      .map(([name, lines]) => [`${path} ${name}`, lines])
  );
  assert.deepEqual(long, [], "make it shorter");
});

Deno.test("a function's lines are counted whatever its form", () => {
  const text = "export function a() {\n  return 1;\n}\nconst b = () => {\n};\n" +
    "class C {\n  d() {\n\n\n  }\n}\n";
  const { functions, lines } = parseTypeScript("x.ts", text);
  assert.deepEqual(functions, [["a", 3], ["b", 2], ["d", 4]]);
  assert.equal(lines, 11);
});
