import { nameIn } from "./size_words.ts";
import type { StudyView } from "./study_view.ts";

/**
 * Which members of the front the samples cannot tell apart, a sentence a group; none: they tell every two.
 * One that breaks a limit is no advice.
 */
export function groupSentences({ groups, rows }: Pick<StudyView, "groups" | "rows">): string[] {
  const broken = new Set(rows.filter(({ violated }) => violated).map(({ trial_id }) => trial_id));
  return groups.map((group) => {
    const names = group.map(nameIn).join(", ");
    const wrong = group.filter((id) => broken.has(id));
    const start = `The samples cannot tell ${names} apart in quality`;
    const kept = group.length - wrong.length;
    if (wrong.length === 0) return `${start}: among them, take the one that costs least.`;
    const which = `${wrong.map(nameIn).join(", ")} break${wrong.length === 1 ? "s" : ""} a limit`;
    return kept < 2
      ? `${start}, though ${which}.`
      : `${start}, though ${which}: among the others, take the one that costs least.`;
  });
}
