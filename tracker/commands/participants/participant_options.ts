import process from "node:process";
import { UsageError } from "../../../core/mod.ts";

/** The value of a variable that holds a key; null: none is named. @throws UsageError it is not set */
export function variableOf(name: string | undefined): string | null {
  if (name === undefined) return null;
  const key = process.env[name];
  if (key !== undefined && key !== "") return key;
  throw new UsageError(`Cannot go on without a key: the variable ${name} is not set`);
}

/** A participant's address. @throws UsageError it is none, or has a key in it */
export function participantUrl(text: string): URL {
  const plain = text.trim();
  if (URL.canParse(plain) && /^https?:$/.test(new URL(plain).protocol)) {
    const url = new URL(plain);
    if (url.username === "" && url.password === "" && url.search === "") return url;
    throw new UsageError(
      "Cannot take an address with a user, a password or a query: name its key by --key-variable",
    );
  }
  throw new UsageError(
    `Cannot ask the participant "${
      plain.replace(/^.*@/s, "…@").replace(/[?#].*$/s, "?…")
    }": it must be a URL such as http://127.0.0.1:9110`,
  );
}
