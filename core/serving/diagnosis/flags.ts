/** Where a flag stands among words: `--flag value` or `--flag=value`; null: it is not there. */
function placeOf(args: readonly string[], flag: string): { at: number; words: number } | null {
  const at = args.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  if (at < 0) return null;
  const bare = args[at] === flag && args[at + 1] !== undefined && !args[at + 1]!.startsWith("--");
  return { at, words: bare ? 2 : 1 };
}

/** What a flag says; null: it is not there, or says nothing. */
export function flagOf(args: readonly string[], flag: string): string | null {
  const place = placeOf(args, flag);
  if (place === null) return null;
  const word = args[place.at]!;
  return word === flag ? (place.words === 2 ? args[place.at + 1]! : null) : word.slice(
    flag.length + 1,
  );
}

export function hasFlag(args: readonly string[], flag: string): boolean {
  return placeOf(args, flag) !== null;
}

/** The words with a flag that says this; null: one that says nothing. */
export function withFlag(
  args: readonly string[],
  flag: string,
  value: string | number | null,
): string[] {
  const words = value === null ? [flag] : [flag, String(value)];
  const place = placeOf(args, flag);
  return place === null
    ? [...args, ...words]
    : [...args.slice(0, place.at), ...words, ...args.slice(place.at + place.words)];
}

export function withoutFlag(args: readonly string[], flag: string): string[] {
  const place = placeOf(args, flag);
  return place === null
    ? [...args]
    : [...args.slice(0, place.at), ...args.slice(place.at + place.words)];
}
