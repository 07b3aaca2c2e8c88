import { type Algorithm, auto, surrogate, tpe } from "../../../core/mod.ts";
import { nsga2 } from "../../../plugins/search/_nsga2.ts";
import { grid } from "../../../plugins/search/grid.ts";
import { quasiRandom } from "../../../plugins/search/quasi_random.ts";
import { randomSearch } from "../../../plugins/search/random.ts";

/** The algorithms of this repository, by the names of their samplers. */
export const OWN_SAMPLERS: Readonly<Record<string, Algorithm>> = {
  random: randomSearch,
  quasi_random: quasiRandom,
  grid,
  evolution: nsga2,
  tpe,
  surrogate,
  auto,
};
