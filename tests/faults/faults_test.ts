/** The loops that find most per second, for some seconds: the first points of a seed. */
import { ignoreUnless } from "../run/counts.ts";
import { lacksStrace } from "./crash/record.ts";
import { bytes } from "./loops/bytes.ts";
import { crash_states } from "./loops/crash_states.ts";
import { processes } from "./loops/processes.ts";
import { scheduler } from "./loops/scheduler.ts";
import { walksHold } from "./short_walks.ts";

Deno.test("damaged bytes and a scheduler under faults keep the invariants for 8 s", () =>
  walksHold([bytes, scheduler], { seconds: 8, seed: 1 }));

Deno.test({
  name: "children of a job's program end with it for 2 s",
  // Wrappers go on without whoever submitted them.
  ...{ sanitizeOps: false, sanitizeResources: false },
  fn: () => walksHold([processes], { seconds: 2, seed: 1 }),
});

const lacks = lacksStrace();
Deno.test({
  name: "what a power cut may leave keeps the invariants for 8 s",
  ignore: ignoreUnless(lacks === null, lacks ?? ""),
  fn: () => walksHold([crash_states], { seconds: 8, seed: 1 }),
});
