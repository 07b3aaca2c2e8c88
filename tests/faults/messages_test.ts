/** What a worker's pipe may say, changed: the first points of a seed. */
import { messages } from "./loops/messages.ts";
import { walksHold } from "./short_walks.ts";

Deno.test("a worker's lines, changed, end in the whole result or in a failure's sentence for 3 s", () =>
  walksHold([messages], { seconds: 3, seed: 1 }));
