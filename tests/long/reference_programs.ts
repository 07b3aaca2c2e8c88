import { ignoreUnless } from "../run/counts.ts";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { WHOLE_CAMPAIGN } from "../fixtures/campaign.ts";
import { testPython } from "../../python-backends/checks.ts";

const SHARED = fileURLToPath(new URL("../../../shared/data", import.meta.url));
const here = existsSync(Deno.env.get("PARE_TEST_DATA") ?? SHARED);

Deno.test({
  name: "reference solutions of HumanEval and MBPP pass in the sandbox, an empty program never",
  ignore: ignoreUnless(
    here,
    "benchmark files are not here: PARE_TEST_DATA names the folder that holds them",
  ),
  fn: async () => {
    Deno.env.set("PARE_TEST_PROGRAMS_EVERY", String(WHOLE_CAMPAIGN ? 1 : 4));
    try {
      const { failed } = await testPython(["-k", "reference_solutions or gives_nothing"]);
      assert.equal(failed, 0);
    } finally {
      Deno.env.delete("PARE_TEST_PROGRAMS_EVERY");
    }
  },
});
