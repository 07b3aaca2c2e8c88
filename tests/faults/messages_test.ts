/** What a worker's pipe and a cluster's head may say, changed: the first points of a seed. */
import { answersTo } from "./loops/answers.ts";
import { engine } from "./loops/engine.ts";
import { messages } from "./loops/messages.ts";
import { walksHold } from "./short_walks.ts";
import { PYTHON_CLIENTS } from "./wire/python_clients.ts";

Deno.test("a worker's lines, changed, end in the whole result or in a failure's sentence for 3 s", () =>
  walksHold([messages], { seconds: 3, seed: 1 }));

Deno.test("a head's answers, changed, begin no job twice, and the next try is whole, for 3 s", () =>
  walksHold([engine], { seconds: 3, seed: 1 }));

Deno.test({
  name: "a served model's and a judge's answers, changed, end in the result or a sentence for 3 s",
  // One process asks at all points.
  ...{ sanitizeOps: false, sanitizeResources: false },
  fn: () => walksHold([answersTo(PYTHON_CLIENTS)], { seconds: 3, seed: 1 }),
});
