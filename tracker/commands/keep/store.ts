import { resolve } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { openArtifactStore } from "../../artifacts/artifact_store.ts";
import { findHome } from "../../ground/home.ts";
import { checkStore } from "../../artifacts/check_store.ts";
import { openStore, rebuildDatabase } from "../../store/store.ts";
import { bytes } from "../../show/view/number_text.ts";

interface StoreOption {
  store?: string;
}

/** `pare store rebuild`: the index made anew from the journal, put in the old one's place whole. */
export async function rebuildCommand(options: StoreOption): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: true });
  const { reached, kept, recovered } = await rebuildDatabase(store);
  const [counts] = await store.ask(
    "SELECT (SELECT count(*) FROM studies) AS studies, (SELECT count(*) FROM trials) AS trials",
  );
  console.log(
    `made ${store.paths.database} anew from ${bytes(reached)} of journal: ` +
      `${counts!["studies"]} studies, ${counts!["trials"]} trials`,
  );
  for (const { type, study_id, trial_id } of recovered) {
    console.log(`kept ${type} of ${trial_id ?? study_id}, which only the index before still held`);
  }
  if (recovered.length > 0) console.log("they are listed in the table recovered");
  if (kept !== null) console.log(`the index before is kept as ${kept}`);
}

/** `pare store check`: says what is wrong with the store and changes nothing. */
export async function checkCommand(options: StoreOption): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  const { wrong, said } = await checkStore(home.store);
  for (const line of said) console.log(line);
  for (const line of wrong) console.log(`WRONG: ${line}`);
  if (wrong.length === 0) return console.log("nothing is wrong");
  console.log(`${wrong.length} ${wrong.length === 1 ? "thing is" : "things are"} wrong`);
  Deno.exitCode = 1;
}

/** `pare store forget`: what only this store used may go. */
export async function forgetCommand(directory: string): Promise<void> {
  const home = findHome(Deno.env.toObject());
  using artifacts = await openArtifactStore(home.artifacts);
  const store = resolve(directory);
  if (!artifacts.forget(store)) {
    const known = artifacts.claimants().map((one) => one.store);
    const names = known.length === 0 ? "none" : known.join(", ");
    throw new UsageError(
      `Cannot forget ${store} as no artifact was used by it; known are ${names}`,
    );
  }
  console.log(`forgot ${store}: pare gc may remove what only it used`);
}
