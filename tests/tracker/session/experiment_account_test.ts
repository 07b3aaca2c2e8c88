import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountFile, keepSalt, saltOf } from "../../../tracker/session/experiments/account.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

Deno.test("members are named by one salt, and one that was lost is drawn anew rather than empty", () => {
  const store = temporaryFolder("account");
  const drawn = saltOf(store, "a");
  assert.match(drawn, /^[0-9a-f-]{36}$/);
  keepSalt(store, "a", drawn);
  keepSalt(store, "a", "another");
  assert.equal(saltOf(store, "a"), drawn);
  writeFileSync(join(accountFile(store, "a"), "..", "salt"), "");
  const again = saltOf(store, "a");
  assert.match(again, /^[0-9a-f-]{36}$/);
  keepSalt(store, "a", again);
  assert.equal(saltOf(store, "a"), again);
});
