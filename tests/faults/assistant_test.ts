/** What an assistant's program may say over standard streams: attacks, and the first damaged requests. */
import { assistant } from "./loops/assistant.ts";
import { walksHold } from "./short_walks.ts";

Deno.test({
  name: "damaged and enormous lines of an assistant's program are each answered for 4 s",
  // One process answers at all points.
  ...{ sanitizeOps: false, sanitizeResources: false },
  fn: () => walksHold([assistant], { seconds: 4, seed: 1 }),
});
