import { join } from "node:path";
import { rounds } from "../fixtures/campaign.ts";
import { sayingSeed, seeded } from "../fixtures/stores/contents.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { killEither } from "../fixtures/stores/two_studies.ts";

const KILLS = rounds(12, 50);

Deno.test(`two studies beside each other in one store lose nothing under ${KILLS} random kills of either`, () =>
  inDirectory(async (directory) => {
    const random = seeded(sayingSeed());
    // From before it has opened the store to long after.
    const waits = Array.from({ length: KILLS }, () => Math.floor(2_000 * random()));
    const { kept } = await killEither(directory, join(directory, "store"), waits);
    console.log(`${KILLS} kills, ${kept} records kept`);
  }));
