/** SIGKILL of a writer at moments that are drawn, one after the other on one store. */
import { streamRandom } from "../../../core/random.ts";
import { killRound } from "../../fixtures/stores/kill_rounds.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";

const POINTS = 80;

export const kills: Loop = {
  name: "kills",
  about: "a writer of a store killed at drawn moments: nothing is lost or doubled",
  reaches: [
    "kills: a writer is killed before its first event",
    "kills: a writer is killed amid events",
  ],
  open(seed, folder) {
    let kept = 0;
    return Promise.resolve({
      points: POINTS,
      async at(n) {
        if (n >= POINTS) return undefined;
        const random = streamRandom(seed, `kills ${n}`);
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
