/** Characters of a sentence: what is longer hides what it says, and was made to. */
const LONGEST_SENTENCE = 4_000;
/** Characters of a name within one. */
const LONGEST_NAME = 80;

/**
 * What a terminal or a reader would act on (escapes, other controls, marks that turn the direction of a
 * text round) as its code: much that is said quotes a stranger's file. Ends of lines and tabs stay.
 */
export function visibleText(text: string): string {
  return text.replaceAll(
    // deno-lint-ignore no-control-regex
    /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A stranger's text within a sentence: on one line, and no longer than `most` characters. */
export function quotedText(text: string, most = LONGEST_NAME): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** A mistake of the user's: printed as one sentence, exit code 2, nothing half-written. */
export class UsageError extends Error {
  /** Set where a stack is what the user is shown of an error: it is the sentence alone then. */
  static sentenceOnly = false;
  override readonly name = "UsageError";

  constructor(message?: string, options?: ErrorOptions) {
    super(
      message === undefined ? message : visibleText(
        message.length <= LONGEST_SENTENCE ? message : `${message.slice(0, LONGEST_SENTENCE - 1)}…`,
      ),
      options,
    );
    if (UsageError.sentenceOnly) this.stack = this.message;
  }
}

/** Edit distance with adjacent swaps, for "Did you mean". */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let j = 0; j <= b.length; j++) rows[0]![j] = j;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, at(i - 2, j - 2) + 1);
      }
      rows[i]![j] = best;
    }
  }
  return at(a.length, b.length);
}

/** Known names that another one is surely a slip of, the nearest first. */
function nearNames(name: string, known: readonly string[]): string[] {
  const most = ({ length }: string) => Math.max(1, Math.floor(length / 3));
  return known
    // A name that is longer by more than that is no slip, and may be as long as a file.
    .filter((candidate) => Math.abs(name.length - candidate.length) <= most(candidate))
    .map((candidate) => ({ candidate, d: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, d }) => d <= most(candidate))
    .sort((x, y) => x.d - y.d)
    .map(({ candidate }) => candidate);
}

/** The known name that another one is surely a slip of; undefined: none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return nearNames(name, known)[0];
}

/** The sentence for a name that is not known: the nearest one, then all of them. */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  const hint = near === undefined ? "" : ` Did you mean "${near}"?`;
  const names = [...known].sort().map((one) => quotedText(one));
  return `Unknown ${kind} "${quotedText(name)}".${hint} Known: ${names.join(", ")}`;
}

/** More names than this hide the one that was meant. */
const FEW = 12;

/** The same where there may be many: the nearest few, and what lists all. */
export function unknownOfMany(
  kind: string,
  name: string,
  known: readonly string[],
  lists_all: string,
): string {
  if (known.length <= FEW) return unknownName(kind, name, known);
  const parts = known.filter((one) => name.length > 3 && one.includes(name.toLowerCase()));
  const near = [...new Set([...nearNames(name, known), ...parts])].slice(0, 3);
  const hint = near.length === 0
    ? ""
    : ` Did you mean ${near.map((one) => `"${one}"`).join(", ")}?`;
  return `Unknown ${kind} "${quotedText(name)}".${hint} ${lists_all} lists all ${known.length}`;
}
