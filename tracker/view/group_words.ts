import { nameIn } from "./size_words.ts";
import type { StudyView } from "./study_view.ts";

/** Which members of the front the samples cannot tell apart, a sentence a group; none: they tell every two. */
export function groupSentences({ groups }: Pick<StudyView, "groups">): string[] {
  return groups.map((group) => {
    const names = group.map(nameIn).join(", ");
    return `The samples cannot tell ${names} apart in quality: among them, take the one that costs ` +
      "least.";
  });
}
