import assert from "node:assert/strict";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { importClosure, methodSource } from "../../../tracker/lab/runner/source_closure.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const PACKAGE = fileURLToPath(new URL("../../../python-backends/pare_backends", import.meta.url));

function closureOf(...files: string[]): string[] {
  const found = importClosure(files.map((file) => join(PACKAGE, file)));
  return found.map((file) => relative(PACKAGE, file));
}

Deno.test("a method's source has the helpers that it imports, and no other method", () => {
  const rtn = closureOf("quantization/rtn.py");
  for (const file of ["quantization/rounding.py", "methods/context.py", "knobs.py"]) {
    assert.ok(rtn.includes(file), `${file} is missing in ${rtn.join(" ")}`);
  }
  assert.ok(rtn.includes("checkpoint/files.py"), "what an import imports belongs to it too");
  assert.ok(!rtn.some((file) => /gptq|autoround|int8/.test(file)), rtn.join(" "));
  const gptq = closureOf("quantization/gptq.py");
  for (
    const file of [
      "quantization/libraries/extract.py",
      "quantization/libraries/freeze.py",
      "quantization/libraries/watch.py",
    ]
  ) {
    assert.ok(gptq.includes(file), `${file}, imported inside a function, is missing`);
  }
  const evaluation = closureOf("calls/evaluate.py");
  for (const file of ["evaluation/packed/language_model.py", "checkpoint/load.py"]) {
    assert.ok(evaluation.includes(file), `${file} is missing in ${evaluation.join(" ")}`);
  }
});

Deno.test("importClosure() follows lists in brackets, and passes over names that are no modules", async () => {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(root, "a"));
    await Deno.writeTextFile(join(root, "a", "__init__.py"), "");
    await Deno.writeTextFile(join(root, "a", "b.py"), "import pare_backends.c\n");
    await Deno.writeTextFile(join(root, "c.py"), "from pare_backends.c import itself\n");
    await Deno.writeTextFile(join(root, "alone.py"), "x = 1\n");
    const entry = join(root, "entry.py");
    await Deno.writeTextFile(
      entry,
      "from pare_backends.a import (\n    b as other,\n    value,\n)\n",
    );
    const found = importClosure([entry], root).map((file) => relative(root, file));
    assert.deepEqual(found, ["a/__init__.py", "a/b.py", "c.py", "entry.py"]);
    await Deno.writeTextFile(join(root, "c.py"), "import pare_backends.alone\n");
    const changed = importClosure([entry], root).map((file) => relative(root, file));
    assert.deepEqual(changed, ["a/__init__.py", "a/b.py", "alone.py", "c.py", "entry.py"]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("a user's own code is a part of what a method's results depend on, where it may run any", async () => {
  const file = join(temporaryFolder("own-code"), "mine.py");
  const needs = { environment: "kvpress", gpu: false };
  const named = (own_code?: string, installed: readonly string[] = []) =>
    methodSource(
      "kv_cache",
      { name: "kvpress", needs: own_code === undefined ? needs : { ...needs, own_code } },
      null,
      installed,
    );
  const variable = "PARE_OWN_CODE_OF_A_TEST";
  const source = await named(variable);
  assert.equal(source, await named(), "where nothing is named nothing changes");
  process.env[variable] = file;
  try {
    await Deno.writeTextFile(file, "first = 1");
    const first = await named(variable);
    await Deno.writeTextFile(file, "first = 2");
    const keys = [source, first, await named(variable), await named()];
    assert.deepEqual([new Set(keys).size, keys[3]], [3, source]);
    process.env[variable] = "their_package";
    const [before, installed] = [await named(variable), await named(variable, [file])];
    await Deno.writeTextFile(file, "first = 3");
    assert.equal(new Set([before, installed, await named(variable, [file])]).size, 3);
  } finally {
    delete process.env[variable];
  }
});
