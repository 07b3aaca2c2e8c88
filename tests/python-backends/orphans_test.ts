import { ignoreUnless } from "../run/counts.ts";
import assert from "node:assert/strict";
import { join } from "node:path";
import { denoWords, startProgram } from "../fixtures/programs.ts";
import { isAlive, until } from "./scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const CORE = join(import.meta.dirname!, "orphan_core.ts");

for (
  const [kind, name] of [
    ["worker", "a core killed by SIGKILL leaves no worker and no grandchild"],
    ["nursery", "a core killed by SIGKILL leaves no nursery and none of its workers"],
  ] as const
) {
  Deno.test({
    name,
    ignore: ignoreUnless(Deno.build.os === "linux", "only Linux has a /proc to look at"),
    async fn() {
      const folder = temporaryFolder("orphan");
      const file = join(folder, "pids");
      const env = { TMPDIR: folder }; // what is killed removes nothing
      const core = startProgram(denoWords(CORE, file, kind), { env });
      let pids: number[] = [];
      await until("both run", async () => {
        pids = (await Deno.readTextFile(file).catch(() => "")).split(" ").map(Number);
        return pids.length === 2 && pids.every((pid) => pid > 0);
      });
      assert(pids.every(isAlive), "both ran while the core lived");
      await core.kill();
      await until("both are gone", () => !pids.some(isAlive));
    },
  });
}
