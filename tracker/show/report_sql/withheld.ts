import { basename } from "node:path";

/** A path of two parts or more from the root or a home, behind what may stand before it; RE2 reads it, too. */
export const PATH = String.raw`(^|[\s"'(=,:;\[])~?/(?:[\w@%+.~-]+/)+([\w@%+.~-]+)`;
/** Tokens by the marks that their makers give them. */
export const TOKEN = String
  .raw`\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|glpat-[A-Za-z0-9_-]{16,}|AKIA[A-Z0-9]{16})`;
export const IN_ADDRESS = String.raw`(https?://)[^/\s@]+@`;

/** One text that stands in no published file. */
export interface PrivateWord {
  readonly word: string;
  readonly instead: string;
  /** A name: it is private where it stands alone, not in "metadata" for somebody called ada. */
  readonly whole: boolean;
}

/** Who and where: what stands in no published file. */
export interface Private {
  /** The longest first. */
  readonly words: readonly PrivateWord[];
}

/** Names that many have, and that are words of many sentences: "root mean square". */
const NOBODYS = new Set([
  ...["admin", "data", "debian", "jovyan", "localhost", "model", "notebook", "pare", "python"],
  ...["root", "runner", "study", "test", "ubuntu", "user"],
]);

/** A pattern that a name fits where it stands alone; RE2 reads it, too. */
export function wholeWord(word: string): string {
  return String.raw`\b${word.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}\b`;
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
  const exact = (word: string, instead: string) => ({ word, instead, whole: false });
  const name = (word: string, instead: string) => ({ word, instead, whole: true });
  const secrets = Object.entries(variables).filter(([key, value]) =>
    SECRET_NAME.test(key) && (value ?? "").length >= 8
  ).map(([, value]) => exact(value!, "(secret)"));
  const words = [
    ...secrets,
    exact(home, "PARE_HOME"),
    exact(checkout, "(checkout)"),
    exact(variables["HOME"] ?? "", "~"),
    ...[name(host, "(host)"), name(user, "(user)")]
      .filter(({ word }) => !NOBODYS.has(word.toLowerCase())),
  ];
  return {
    words: words.filter(({ word }) => word.length >= 3)
      .sort((a, b) => b.word.length - a.word.length),
  };
}

/** A text without what is private: names, tokens and, of every path, all but its last part. */
export function cleanText(text: string, { words }: Private): string {
  return cleanWords(text, { words }).replaceAll(new RegExp(PATH, "g"), "$1…/$2");
}

/** A page's own program and look: the same in every report, and known to the browser by their hashes. */
const PROGRAM = /(<script type="module">[\s\S]*?<\/script>|<style>[\s\S]*?<\/style>)/;

/**
 * The same for a page, in which much looks like a path: only `paths` are cut, and its program stays as
 * it is, as a browser runs no other.
 */
export function cleanPage(text: string, hidden: Private, paths: readonly string[]): string {
  const longest = [...paths].sort((a, b) => b.length - a.length);
  const clean = (part: string) => {
    const cut = longest.reduce((left, path) => left.replaceAll(path, `…/${basename(path)}`), part);
    return cleanWords(cut, hidden);
  };
  return text.split(PROGRAM).map((part, i) => i % 2 === 1 ? part : clean(part)).join("");
}

function cleanWords(text: string, { words }: Private): string {
  const named = words.reduce(
    (left, { word, instead, whole }) =>
      left.replaceAll(whole ? new RegExp(wholeWord(word), "g") : word, () => instead),
    text,
  );
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
