/**
 * Hundredths of the font's size that the letters from space to tilde advance in DejaVu Sans, the font that
 * ships for PNG and the widest of those that readers have: what fits by it fits everywhere.
 */
const ADVANCE = [
  ...[32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64],
  ...[64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86],
  ...[75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63],
  ...[62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64],
  ...[34, 64, 84],
];
const WIDEST = 100;
const BOLD = 1.13;

/** Pixels that a line of text takes at most. */
export function textWidth(text: string, size: number, bold = false): number {
  let sum = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0)!;
    // Latin letters beyond ASCII are as wide as those; of other scripts each is taken for a square.
    sum += ADVANCE[code - 32] ??
      (code < 0x250 ? 70 : code >= 0x2010 && code < 0x2300 ? 84 : WIDEST);
  }
  return sum / 100 * size * (bold ? BOLD : 1);
}

/** The text, or as much of it as fits before an ellipsis. */
export function shorten(text: string, width: number, size: number): string {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(`${letters.join("")}…`, size) > width) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}

/** A word that is longer than a line in pieces that are not. */
function pieces(word: string, width: number, size: number, bold: boolean): string[] {
  if (textWidth(word, size, bold) <= width) return [word];
  const done = [""];
  for (const letter of word) {
    const longer = done.at(-1)! + letter;
    if (done.at(-1) !== "" && textWidth(longer, size, bold) > width) done.push(letter);
    else done[done.length - 1] = longer;
  }
  return done;
}

/** A sentence in lines that fit a width; empty: no line. */
export function wrap(text: string, width: number, size: number, bold = false): string[] {
  const words = text.split(/\s+/).filter((word) => word !== "");
  return words.flatMap((word) => pieces(word, width, size, bold)).reduce<string[]>((done, word) => {
    const last = done.at(-1);
    const longer = last === undefined ? word : `${last} ${word}`;
    return last !== undefined && textWidth(longer, size, bold) <= width
      ? [...done.slice(0, -1), longer]
      : [...done, word];
  }, []);
}

/** Names of a list with the last behind "and"; beyond `most` the rest is counted. */
export function listed(names: readonly string[], most = 4): string {
  const shown = names.length > most
    ? [...names.slice(0, most - 1), `${names.length - most + 1} more`]
    : [...names];
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}
