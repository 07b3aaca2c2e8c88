/** Brackets that open, at most, before an object is looked for no more. */
const MOST_TRIES = 20;

/** Where the brackets that open at `from` close again, strings passed over; null: not yet. */
function closingOf(text: string, from: number): number | null {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char === "\\") at++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === "{") depth++;
    else if (char === "}" && --depth === 0) return at + 1;
  }
  return null;
}

/**
 * The first whole JSON object in what a language model says, with the place behind it: in a fence, or
 * behind what it thought aloud between `<think>` and `</think>`. Null: there is none. `more`: more of it is
 * to come, so that what is open may still close.
 */
export function firstObject(
  text: string,
  { more = false }: { more?: boolean } = {},
): { value: unknown; end: number } | null {
  const thinks = /^\s*<think>/.test(text);
  const thought = text.lastIndexOf("</think>");
  if (thinks && thought < 0) return null;
  let from = text.indexOf("{", Math.max(0, thought));
  for (let tries = 0; from >= 0 && tries < MOST_TRIES; tries++) {
    const end = closingOf(text, from);
    if (end === null && more) return null;
    if (end !== null) {
      try {
        return { value: JSON.parse(text.slice(from, end)), end };
      } catch {
        // Brackets of prose: an object may stand behind them.
      }
    }
    from = text.indexOf("{", from + 1);
  }
  return null;
}
