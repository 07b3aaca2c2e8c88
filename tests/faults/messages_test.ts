/** What a worker's pipe and a cluster's head may say, changed: the first points of a seed. */
import { engine } from "./loops/engine.ts";
import { messages } from "./loops/messages.ts";
import { walksHold } from "./short_walks.ts";

Deno.test("a worker's lines, changed, end in the whole result or in a failure's sentence for 3 s", () =>
  walksHold([messages], { seconds: 3, seed: 1 }));

Deno.test("a head's answers, changed, begin no job twice, and the next try is whole, for 3 s", () =>
  walksHold([engine], { seconds: 3, seed: 1 }));
