/** A column of a table, as text. */
export interface FitColumn {
  readonly title: string;
  readonly cells: readonly string[];
  /** A number is never cut: half of one is another. */
  readonly numeric: boolean;
  /** The larger, the later it is left out; absent: by its place, the first last. */
  readonly importance?: number;
}

/** What fits: the columns by their places, their widths, and the titles of those left out. */
export interface Fitted {
  readonly kept: readonly number[];
  readonly widths: readonly number[];
  readonly left_out: readonly string[];
}

/** Between two columns. */
export const GAP = 2;

/** Text is cut to this many characters before any column is left out. */
const LEAST_TEXT = 16;

const long = (text: string): number => [...text].length;

/** No column says anything where all its cells are empty. */
function isEmpty({ cells }: FitColumn): boolean {
  return cells.every((cell) => cell === "" || cell === "–" || cell === "[]");
}

/**
 * Fits columns into so many characters: first those that say nothing go, then the widest texts are cut,
 * then the least important columns go. Two always stay.
 */
export function fitColumns(columns: readonly FitColumn[], width: number): Fitted {
  const full = columns.map(({ title, cells }) => Math.max(long(title), ...cells.map(long)));
  const widths = [...full];
  let kept = columns.map((_, place) => place);
  const over = () =>
    kept.reduce((sum, place) => sum + widths[place]!, 0) + GAP * (kept.length - 1) - width;
  const leave = (place: number) => {
    kept = kept.filter((one) => one !== place);
  };
  const importance = (place: number) => columns[place]!.importance ?? -place;
  const byImportance = [...kept].sort((a, b) => importance(a) - importance(b));
  const leaveOut = (places: readonly number[]) => {
    for (const place of places) if (over() > 0 && kept.length > 2) leave(place);
  };
  const cut = () => {
    while (over() > 0) {
      const texts = kept.filter((place) =>
        !columns[place]!.numeric &&
        widths[place]! > Math.max(LEAST_TEXT, long(columns[place]!.title))
      );
      const widest = texts.sort((a, b) => widths[b]! - widths[a]!)[0];
      if (widest === undefined) return;
      widths[widest]!--;
    }
  };
  leaveOut(byImportance.filter((place) => isEmpty(columns[place]!)));
  cut();
  leaveOut(byImportance);
  // What a column left may serve the texts that were cut.
  for (const place of kept) {
    widths[place] = Math.min(full[place]!, widths[place]! + Math.max(0, -over()));
  }
  return {
    kept,
    widths: kept.map((place) => widths[place]!),
    left_out: columns.filter((_, place) => !kept.includes(place)).map(({ title }) => title),
  };
}

/** A text in so many characters: of a name such as study/t03 the end stays, of other texts the beginning. */
export function cutText(text: string, width: number): string {
  const chars = [...text];
  if (chars.length <= width) return text;
  const end = [...(/\/[^/\s]{1,8}$/.exec(text)?.[0] ?? "")];
  const head = chars.slice(0, Math.max(0, width - 1 - end.length));
  return [...head, "…", ...end].slice(0, width).join("");
}

/** What a narrow table does not show; empty: it shows all. */
export function leftOutLine({ left_out }: Pick<Fitted, "left_out">): string[] {
  return left_out.length === 0 ? [] : [
    `(too narrow for: ${left_out.filter((title) => title !== "").join(", ")})`,
  ];
}

/** Characters that standard output shows in a line; a file or a pipe takes any number. */
export function outputWidth(): number {
  if (!Deno.stdout.isTerminal()) return Infinity;
  try {
    return Math.max(60, Deno.consoleSize().columns);
  } catch {
    return Infinity; // a terminal without a size, as under some continuous-integration systems
  }
}
