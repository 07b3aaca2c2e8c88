import { type Stats, statSync } from "node:fs";

/**
 * What lies at a path; undefined: nothing does. Of a name from outside that can be none of a file (too
 * long, with a zero) nothing is found, too: `statSync` throws there.
 */
export function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
