import assert from "node:assert/strict";
import { parseYaml } from "../../../tracker/ground/storage/read_yaml.ts";

Deno.test("parseYaml() follows aliases, and refuses a text that has more than it can look for", () => {
  const quoted = "a: '*x'\nb: |\n  *y\n  *z\n";
  assert.deepEqual(parseYaml(`${quoted}c: &x 1\nd: *x`), {
    ...{ a: "*x", b: "*y\n*z\n", c: 1, d: 1 },
  });
  for (const many of [`a: [${"*a,".repeat(20_000)}]`, "- *a\n".repeat(2_000)]) {
    assert.throws(() => parseYaml(many), /^Error: it has more than 1000 aliases$/);
  }
});
