/** SIGKILL of a writer, and of who makes an old index anew, at moments that are drawn. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { streamRandom } from "../../../core/random.ts";
import { killRound } from "../../fixtures/stores/kill_rounds.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";
import { killedUpgrades } from "../processes/killed_upgrade.ts";

const POINTS = 100;
/** Of so many points one is of an upgrade; its moment is up to long after it should have ended. */
const UPGRADE = 5;
const LONGEST_SHARE = 2.4;

export const kills: Loop = {
  name: "kills",
  about: "a writer of a store and an upgrade killed at drawn moments: nothing is lost or doubled",
  reaches: [
    "kills: a writer is killed before its first event",
    "kills: a writer is killed amid events",
    "kills: a killed upgrade leaves the old index",
    "kills: a killed upgrade leaves the new index",
  ],
  open(seed, folder) {
    let kept = 0;
    let upgrades: ReturnType<typeof killedUpgrades> | undefined;
    const upgraded = async (share: number) => {
      mkdirSync(join(folder, "upgrades"), { recursive: true });
      const old = await (await (upgrades ??= killedUpgrades(join(folder, "upgrades"))))(share);
      sometimes(`kills: a killed upgrade leaves the ${old ? "old" : "new"} index`);
    };
    return Promise.resolve({
      points: POINTS,
      async at(n) {
        if (n >= POINTS) return undefined;
        const random = streamRandom(seed, `kills ${n}`);
        if (n % UPGRADE === UPGRADE - 1) {
          const share = LONGEST_SHARE * random();
          const call = `SIGKILL after ${share.toFixed(2)} of its time`;
          const injected = { file: "an upgrade", call, kind: "survivable" } as const;
          return await injecting(injected, () => upgraded(share));
        }
        // One in four while the process starts and opens the store, the others while it writes.
        const kill = n % 4 === 0 ? { started_ms: 900 * random() } : { opened_ms: 400 * random() };
        const [[when, ms] = ["", 0]] = Object.entries(kill);
        const call = `SIGKILL ${ms.toFixed(0)} ms after it ${
          when === "opened_ms" ? "opened" : "began"
        }`;
        return await injecting({ file: "a writer", call, kind: "survivable" }, async () => {
          const round = await killRound(folder, kept, kill);
          kept = round.kept;
          const amid = round.acknowledged > 0 ? "amid events" : "before its first event";
          sometimes(`kills: a writer is killed ${amid}`);
        });
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  },
};
