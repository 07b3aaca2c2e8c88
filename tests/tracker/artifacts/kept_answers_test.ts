import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answersFile, type MadeBy, whyAnew } from "../../../tracker/artifacts/kept_answers.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const ID = "a".repeat(16);
const MADE: MadeBy = { evaluation: "e1", environment: "p1" };

Deno.test("answers are kept apart by all that made them, and by study where that matters", () => {
  const file = (made: MadeBy, study?: string) => answersFile("/home", ID, made, study);
  const all = [
    file(MADE),
    file({ ...MADE, evaluation: "e2" }),
    file({ ...MADE, environment: "p2" }),
    file({ ...MADE, method: "m1" }),
    file(MADE, "study"),
  ];
  assert.equal(new Set(all).size, all.length);
});

Deno.test("what is asked anew though answers are kept says what changed, and only then", () =>
  inDirectory(async (root) => {
    await mkdir(join(root, "answers"));
    const ask = async (made: MadeBy, id = ID) => {
      const file = answersFile(root, id, made, undefined);
      const why = await whyAnew(root, id, made, file);
      await writeFile(file, "{}\n");
      return why;
    };
    const first = { ...MADE, method: "m1" };
    assert.equal(await ask(first), null, "nothing is kept");
    assert.equal(await ask(first), null, "what is kept counts");
    assert.equal(
      await ask({ ...first, method: "m2" }),
      "asked anew, as the code of its method changed since answers of it were kept",
    );
    assert.equal(
      await ask({ ...MADE, evaluation: "e2", method: "m2", environment: "p2" }),
      "asked anew, as the code that evaluates and an environment's packages changed since answers " +
        "of it were kept",
    );
    assert.equal(await ask(first), null, "the older code again finds its own");
    assert.equal(
      await ask({ ...first, method: "m3" }, "b".repeat(16)),
      null,
      "of another artifact",
    );
    const asked_beside = { ...first, method: "m4" };
    await writeFile(answersFile(root, ID, asked_beside, undefined), "{}\n");
    assert.equal(await ask(asked_beside), null, "another cell's reading has answered it");
  }));
