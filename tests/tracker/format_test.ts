import assert from "node:assert/strict";
import { bytes } from "../../tracker/view/format.ts";

Deno.test("bytes() tells small sizes too", () => {
  const sizes = [0, 999, 1000, 52_340, 99_940, 100_000, 270_880_000, 9.9e9, 1.25e10, null];
  assert.deepEqual(sizes.map(bytes), [
    "0 bytes",
    "999 bytes",
    "1.0 kB",
    "52.3 kB",
    "99.9 kB",
    "0.1 MB",
    "270.9 MB",
    "9900.0 MB",
    "12.5 GB",
    "–",
  ]);
});
