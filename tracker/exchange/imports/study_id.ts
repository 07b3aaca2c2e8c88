import { createHash } from "node:crypto";

/** The first digits of a hash; six are enough to tell a store's studies of one name apart. */
export function shortHash(identity: string, digits = 6): string {
  return createHash("sha256").update(identity).digest("hex").slice(0, digits);
}

/** A readable id of an imported study: `optuna-NAME-1a2b3c`; `identity` tells equal names apart. */
export function studyId(prefix: string, name: string, identity: string): string {
  const word = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^-+|-+$/g, "").slice(0, 60);
  return [prefix, word, shortHash(identity)].filter((part) => part !== "").join("-");
}
