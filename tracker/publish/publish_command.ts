import { hostname } from "node:os";
import { resolve } from "node:path";
import { findStudy } from "../find_study.ts";
import { discoverPlugins } from "../discover.ts";
import { findHome, PROJECT_ROOT } from "../home.ts";
import { openStore } from "../store/store.ts";
import { publishStudy } from "./publish_study.ts";
import { privateWords } from "./withheld.ts";

/** `pare publish`: a folder that is enough for a stranger, and what it leaves out. */
export async function publishCommand(
  study: string,
  directory: string,
  options: { store?: string; force?: boolean },
): Promise<void> {
  const variables = Deno.env.toObject();
  const home = findHome(variables, options.store);
  await using store = await openStore(home.store, { write: false });
  const { id } = await findStudy(store, study);
  const target = resolve(directory);
  const { files, left_out } = await publishStudy({
    ...{ store, study_id: id, registry: await discoverPlugins(), directory: target },
    hidden: privateWords({
      ...{ home: home.root, checkout: PROJECT_ROOT, host: hostname(), variables },
    }),
    force: options.force ?? false,
  });
  console.log(`${files} files in ${target}`);
  for (const one of left_out) console.log(`left out: ${one}`);
}
