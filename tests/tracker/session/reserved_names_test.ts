import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { checkStudy } from "../../../tracker/lab/check_study.ts";
import { ReservedNames } from "../../../tracker/session/reserved_names.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";

const REQUEST = checkStudy({ model_name: "tiny", dataset: "tiny" }, "study");

Deno.test("studies that begin in the same second have names of their own, and unused ones go", () =>
  inDirectory(async (root) => {
    const [one, other] = [new ReservedNames(root, true), new ReservedNames(root, true)];
    const names = [one.of(REQUEST), other.of(REQUEST), one.of(REQUEST)];
    assert.equal(new Set(names).size, 3, names.join());
    {
      await using store = await openStore(root, { write: true });
      for (const record of studyRecords(names[0])) await store.record(record);
    }
    one.giveBack();
    other.giveBack();
    const there = names.map((name) => existsSync(join(root, "runs", name)));
    assert.deepEqual(there, [true, false, false]);
  }));

Deno.test("who only looks at a study writes nothing for its name", () =>
  inDirectory((root) => {
    const names = new ReservedNames(join(root, "store"), false);
    assert.match(names.of(REQUEST), /^tiny-tiny-/);
    assert.ok(!existsSync(join(root, "store")));
    return Promise.resolve();
  }));
