/** Numbers that Python writes into JSON though JSON has no words for them. */
const SPECIAL: Readonly<Record<string, number>> = { NaN, Infinity, "-Infinity": -Infinity };
const MARK = "\u0001number ";

/**
 * JSON as Python's `json.dumps` writes it: bare NaN and Infinity are numbers. Such words inside
 * texts stay what they are.
 */
export function parsePythonJson(text: string): unknown {
  const marked = text.replace(
    // A text that does not end is one all the same: looking for its end at each of its marks takes hours.
    /"[^"\\]*(?:\\[^][^"\\]*)*"?|-?\bInfinity\b|\bNaN\b/g,
    (token) => token.startsWith('"') ? token : JSON.stringify(MARK + token),
  );
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== "string" || !value.startsWith(MARK)) return value;
    return SPECIAL[value.slice(MARK.length)] ?? value;
  });
}
