/** What a stranger may not have of a board and of an assistant's server: the first requests of a seed. */
import { pages } from "./loops/pages.ts";
import { walksHold } from "./short_walks.ts";

Deno.test("damaged requests of board and assistant are answered or refused for 4 s", () =>
  walksHold([pages], { seconds: 4, seed: 1 }));
