import { Lexer, LineCounter, parse, YAMLParseError } from "yaml";
import { UsageError } from "../../../core/mod.ts";
import { readText } from "./plain_file.ts";

/** Bytes of a document: the parser takes up to 25 µs for a letter that is wrong, and names them all. */
const LONGEST = 100_000;
/** Nodes that aliases may stand for: a few lines could else stand for billions. */
const MOST_ALIASES = 100;
/** Aliases that are written: each is looked for in all that stands before it. */
const MOST_WRITTEN = 1_000;

/** Whether a text has more aliases than are looked for in time. */
function hasTooManyAliases(text: string): boolean {
  let found = 0;
  for (const token of new Lexer().lex(text)) {
    if (token.startsWith("*") && ++found > MOST_WRITTEN) return true;
  }
  return false;
}

/**
 * What a text of YAML, or of JSON, holds.
 *
 * @throws Error what is wrong with it first, and where, on one line
 */
export function parseYaml(text: string): unknown {
  if (hasTooManyAliases(text)) throw new Error(`it has more than ${MOST_WRITTEN} aliases`);
  const lineCounter = new LineCounter();
  try {
    // Its own pretty errors draw the place of each mistake: seconds to minutes where there are many.
    const quiet = { logLevel: "error", prettyErrors: false } as const;
    return parse(text, { ...quiet, lineCounter, maxAliasCount: MOST_ALIASES });
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split("\n");
    if (!(error instanceof YAMLParseError)) throw new Error(said);
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new Error(`${said} at line ${line}, column ${col}`);
  }
}

/**
 * What a user's file of YAML, or of JSON, holds. `what` it is to be, as in "the rules".
 *
 * @throws UsageError it is not there, no file, too long, not UTF-8 or no YAML
 */
export function readYaml(path: string, what: string): unknown {
  try {
    return parseYaml(readText(path, LONGEST));
  } catch (error) {
    throw new UsageError(`Cannot read ${what} ${path}: ${(error as Error).message}`);
  }
}
