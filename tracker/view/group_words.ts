import { trialName } from "../../core/mod.ts";
import type { StudyView } from "./study_view.ts";

/** A trial's name in its study, such as t03. */
export function nameIn(rows: StudyView["rows"], id: string): string {
  const row = rows.find(({ trial_id }) => trial_id === id);
  return row === undefined ? id : trialName(row.number);
}

/** Which members of the front the samples cannot tell apart, a sentence a group; none: they tell every two. */
export function groupSentences({ groups, rows }: Pick<StudyView, "groups" | "rows">): string[] {
  return groups.map((group) => {
    const names = group.map((id) => nameIn(rows, id)).join(", ");
    return `The samples cannot tell ${names} apart in quality: among them, take the one that costs ` +
      "least.";
  });
}
