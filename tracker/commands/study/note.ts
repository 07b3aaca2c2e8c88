import { findTrial } from "../../lab/find_study.ts";
import { findHome } from "../../ground/home.ts";
import { openStore } from "../../store/store.ts";
import { takeNote } from "../../store/take_note.ts";
import { jsonText } from "../../show/json/print_json.ts";

/** `pare note`: a sentence that stays with a study or a trial, also while a study runs. */
export async function noteCommand(
  name: string,
  text: string,
  options: { store?: string; json?: boolean },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  // A trial's short name is of the newest study, as everywhere.
  const subject = /^t\d+$/.test(name) ? (await findTrial(store, name)).trial_id : name;
  const note_id = await takeNote(store, subject, text);
  const said = `noted for ${subject}`;
  console.log(options.json ? jsonText("note", { subject, note_id, said }) : said);
}
