import assert from "node:assert/strict";
import { foundAt } from "../../../tracker/ground/storage/found_at.ts";

Deno.test("a name that can be no file's is one that nothing lies at", () => {
  assert.equal(foundAt(import.meta.filename!)?.isFile(), true);
  for (const name of ["not here", "a".repeat(100_000), "a\0b", ""]) {
    assert.equal(foundAt(name), undefined);
  }
});
