import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { conversionKey } from "../../../tracker/lab/runner/gather_facts.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

Deno.test("a split GGUF model is converted anew where any of its files changed", async () => {
  const folder = temporaryFolder("parts");
  const parts = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"].map((name) =>
    join(folder, name)
  );
  for (const part of parts) await writeFile(part, "GGUF");
  const keys = await Promise.all(parts.map((part) => conversionKey(part, undefined)));
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[0], null);
  await writeFile(parts[1] ?? "", "GGUF other");
  assert.notEqual(await conversionKey(parts[0] ?? "", undefined), keys[0]);
  await rm(parts[1] ?? "");
  assert.equal(await conversionKey(parts[0] ?? "", undefined), null);
});
