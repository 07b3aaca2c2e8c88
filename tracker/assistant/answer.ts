/** What an assistant is answered with: small, whole sentences, and where the rest is. */
import { toJson } from "../store/journal/record_line.ts";

/** Characters of an answer, about 6,000 tokens: what a conversation can hold several of. */
export const MOST_CHARS = 24_000;

/** Lists and texts are cut at these, one pair after the other, until the answer is small enough. */
const CUTS: readonly (readonly [items: number, characters: number])[] = [
  [200, 8_000],
  [50, 2_000],
  [20, 600],
  [8, 200],
  [3, 80],
];

type Plain = null | string | number | boolean | Plain[] | { [key: string]: Plain };

/** A copy with its lists and texts cut; a list that was cut says what it lacks. */
function cutTo(value: Plain, items: number, characters: number): Plain {
  if (typeof value === "string") {
    const rest = value.length - characters;
    return rest <= 0 ? value : `${value.slice(0, characters)}… (${rest} more characters)`;
  }
  if (Array.isArray(value)) {
    const shown = value.slice(0, items).map((one) => cutTo(one, items, characters));
    const rest = value.length - items;
    return rest <= 0 ? shown : [...shown, `… ${rest} more of ${value.length}`];
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, cutTo(one, items, characters)]),
  );
}

/** A value as JSON, its lists and texts cut where it is too long for a conversation. */
export function smallJson(value: unknown, most = MOST_CHARS): string {
  const whole = toJson(value);
  if (whole.length <= most) return whole;
  const plain = JSON.parse(whole) as Plain;
  const tries = CUTS.map(([items, characters]) => JSON.stringify(cutTo(plain, items, characters)));
  const found = tries.find((text) => text.length <= most) ?? tries.at(-1)!;
  return found.length <= most ? found : `${found.slice(0, most)}… (cut: ask for less of it)`;
}

/** Characters of a sentence that refuses, from its beginning and its end: it may name what was asked. */
const [ERROR_HEAD, ERROR_TAIL] = [1_500, 500];

/** A sentence that refuses, without the middle of what is too long for one. */
export function shortError(text: string): string {
  const rest = text.length - ERROR_HEAD - ERROR_TAIL;
  if (rest <= 0) return text;
  return `${text.slice(0, ERROR_HEAD)}… (${rest} more characters) …${text.slice(-ERROR_TAIL)}`;
}

/** One page of a long text, cut at ends of lines; `page` from 1. */
export function pageOf(
  text: string,
  page: number,
  most = MOST_CHARS,
): { text: string; page: number; pages: number } {
  const pages: string[] = [];
  for (let rest = text; rest.length > 0;) {
    const end = rest.length <= most ? rest.length : rest.lastIndexOf("\n", most) + 1 || most;
    pages.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return { text: pages[page - 1] ?? "", page, pages: Math.max(1, pages.length) };
}
