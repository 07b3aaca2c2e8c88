import { UsageError } from "../../../../core/mod.ts";

/** What MLflow's server takes in one request and one value (mlflow/utils/validation.py). */
export const LIMITS = {
  metrics: 1_000,
  params: 100,
  tags: 100,
  items: 1_000,
  body_bytes: 1_000_000,
  key: 250,
  param_value: 6_000,
  /** 8,000 in newer servers. */
  tag_value: 5_000,
  experiment_name: 500,
} as const;

// A colon is allowed by newer servers only, and by none on Windows.
const KEY = /^[\w.\- /]+$/;

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/**
 * Refuses a name that the server would refuse, or that would leave its folder where names are files.
 *
 * @throws UsageError with the name and the reason.
 */
export function checkKey(kind: "metric" | "param" | "tag", key: string): void {
  const reason = key === ""
    ? "it is empty"
    : [...key].length > LIMITS.key
    ? `it has ${[...key].length} characters, ${LIMITS.key} are allowed`
    : !KEY.test(key)
    ? "letters, digits, space and _ - . / are allowed"
    : key.split("/").some((part) => part === "" || part === "." || part === "..")
    ? "as a path it would be another name"
    : null;
  if (reason !== null) throw new UsageError(`Cannot log the ${kind} ${shown(key)}: ${reason}`);
}

/** A name that the server takes: other characters become `_`, long ones end in a hash. */
export function safeKey(text: string): string {
  const plain = text.normalize("NFKC").replaceAll(/[^\w.\- /]/g, "_").split("/")
    .map((part) => /^\.{0,2}$/.test(part) ? "_" : part).join("/");
  return plain.length <= LIMITS.key ? plain : hashedKey(plain, text);
}

/** A name that the server takes, told apart from others by a hash of the text at its end. */
export function hashedKey(plain: string, text: string): string {
  return `${plain.slice(0, LIMITS.key - 9)}-${shortHash(text)}`;
}

/** A text of at most `limit` characters; what is cut is said at its end. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const note = `… (${text.length} characters)`;
  return text.slice(0, limit - note.length) + note;
}

/** FNV-1a over the UTF-16 units, 8 hexadecimal digits: tells long names apart, proves nothing. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
