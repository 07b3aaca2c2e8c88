/** Who or what ended a study, as words after "ended by"; null: nothing did yet. */
export function endedBy(stop: string | null): string | null {
  return stop === "by_hand" ? "whoever drove it by hand" : stop?.replaceAll("_", " ") ?? null;
}
