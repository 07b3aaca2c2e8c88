import { basename } from "node:path";

/** An absolute path of two parts or more, behind what may stand before one; RE2 reads it, too. */
export const PATH = String.raw`(^|[\s"'(=,:;\[])/(?:[\w@%+.~-]+/)+([\w@%+.~-]+)`;
/** Tokens by the marks that their makers give them. */
export const TOKEN = String
  .raw`\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|glpat-[A-Za-z0-9_-]{16,}|AKIA[A-Z0-9]{16})`;
export const IN_ADDRESS = String.raw`(https?://)[^/\s@]+@`;

/** Who and where: what stands in no published file. */
export interface Private {
  /** Exact texts, the longest first, each with what stands in its place. */
  readonly words: readonly (readonly [word: string, instead: string])[];
}

interface Place {
  readonly home: string;
  readonly checkout: string;
  readonly host: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

const SECRET_NAME = /(TOKEN|SECRET|PASSWORD|API_KEY|ACCESS_KEY)$/;

/** What is private of this machine and of who uses it. */
export function privateWords({ home, checkout, host, variables }: Place): Private {
  const user = variables["USER"] ?? variables["LOGNAME"] ?? "";
  const secrets = Object.entries(variables).filter(([name, value]) =>
    SECRET_NAME.test(name) && (value ?? "").length >= 8
  ).map(([, value]) => [value!, "(secret)"] as const);
  const words = [
    ...secrets,
    [home, "PARE_HOME"] as const,
    [checkout, "(checkout)"] as const,
    [variables["HOME"] ?? "", "~"] as const,
    [host, "(host)"] as const,
    // Such a name is a word of many sentences: "root mean square".
    [user === "root" || user === "user" ? "" : user, "(user)"] as const,
  ];
  return {
    words: words.filter(([word]) => word.length >= 3).sort(([a], [b]) => b.length - a.length),
  };
}

/** A text without what is private: names, tokens and, of every path, all but its last part. */
export function cleanText(text: string, { words }: Private): string {
  return cleanWords(text, { words }).replaceAll(new RegExp(PATH, "g"), "$1…/$2");
}

/** The same for a page, whose program may have what looks like a path: only `paths` are cut. */
export function cleanPage(text: string, hidden: Private, paths: readonly string[]): string {
  const longest = [...paths].sort((a, b) => b.length - a.length);
  const cut = longest.reduce((left, path) => left.replaceAll(path, `…/${basename(path)}`), text);
  return cleanWords(cut, hidden);
}

function cleanWords(text: string, { words }: Private): string {
  const named = words.reduce((left, [word, instead]) => left.replaceAll(word, instead), text);
  return named.replaceAll(new RegExp(IN_ADDRESS, "g"), "$1").replaceAll(
    new RegExp(TOKEN, "g"),
    "(secret)",
  );
}

/** A document, each of its texts cleaned; keys are names and stay. */
export function cleanValue(value: unknown, hidden: Private): unknown {
  if (typeof value === "string") return cleanText(value, hidden);
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, hidden));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, cleanValue(item, hidden)]),
  );
}

/** Every absolute path that stands in a document. */
export function pathsIn(value: unknown): string[] {
  if (typeof value === "string") {
    return [...value.matchAll(new RegExp(PATH, "g"))].map(([found, before]) =>
      found.slice(before!.length)
    );
  }
  if (typeof value !== "object" || value === null) return [];
  return [...new Set(Object.values(value).flatMap(pathsIn))];
}
