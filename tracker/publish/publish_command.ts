import { resolve } from "node:path";
import { findStudy } from "../find_study.ts";
import { discoverPlugins } from "../discover.ts";
import { findHome } from "../home.ts";
import { privateHere } from "../report_sql/sql_box.ts";
import { openStore } from "../store/store.ts";
import { publishStudy } from "./publish_study.ts";

/** `pare publish`: a folder that is enough for a stranger, and what it leaves out. */
export async function publishCommand(
  study: string,
  directory: string,
  options: { store?: string; force?: boolean; sql?: boolean },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const { id } = await findStudy(store, study);
  const target = resolve(directory);
  const { files, left_out } = await publishStudy({
    ...{ store, study_id: id, registry: await discoverPlugins(), directory: target },
    ...{ hidden: privateHere(home.root), force: options.force ?? false, sql: options.sql ?? false },
  });
  console.log(`${files} files in ${target}`);
  for (const one of left_out) console.log(`left out: ${one}`);
}
