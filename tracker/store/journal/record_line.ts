import { crc32 } from "node:zlib";
import { JournalRecord, UsageError } from "../../../core/mod.ts";
import { RECORD_VERSION, upgradeRecord } from "./upgrade_record.ts";

const NEWLINE = 0x0a;
const HEADER = /^(\d{1,4}) ([0-9a-f]{8}) ([0-9a-f]{8}) $/;
/** `1 0000012f 9c2d41aa `: version, bytes of the payload and its CRC-32, both hexadecimal. */
const MAX_HEADER = 4 + 1 + 8 + 1 + 8 + 1;
const QUOTED = /^'*(NaN|-?Infinity)$/;
/** What may be such a text in JSON: an escape could hide one. */
const QUOTED_INSIDE = /"'*(?:NaN|-?Infinity)"|\\u/;

/** `JSON.stringify` writes -0 as 0. TypeScript does not know `rawJSON` yet. */
const MINUS_ZERO = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON("-0");

/**
 * JSON in which NaN and the infinities stand as the strings "NaN", "Infinity", "-Infinity". A text
 * that reads like one of them gets an apostrophe before it, so that nothing is ambiguous.
 */
export function toJson(value: unknown): string {
  if (isOrdinary(value)) return JSON.stringify(value); // a callback a value is five times slower
  return JSON.stringify(value, (_key, item: unknown) => {
    if (Object.is(item, -0)) return MINUS_ZERO;
    if (typeof item === "number") return Number.isFinite(item) ? item : String(item);
    return typeof item === "string" && QUOTED.test(item) ? `'${item}` : item;
  });
}

/** Whether `JSON.stringify` says it all: no NaN, infinity or -0, and no text that reads like one. */
function isOrdinary(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value === "string") return !QUOTED.test(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isOrdinary);
}

/** The value that `toJson` wrote. Keys such as `__proto__` stay plain data. */
export function fromJson(text: string): unknown {
  if (!QUOTED_INSIDE.test(text)) return JSON.parse(text); // ten times as fast
  return JSON.parse(text, (_key, item: unknown) => {
    if (typeof item !== "string" || !QUOTED.test(item)) return item;
    return item.startsWith("'") ? item.slice(1) : Number(item);
  });
}

/** The version is under the checksum too: a flipped digit must not look like a newer record. */
function checksum(version: string, payload: Uint8Array): number {
  return crc32(payload, crc32(version));
}

/** The study that a record is about. */
export function studyOf(record: JournalRecord): string {
  if (record.type === "trial_closed") return record.trial.study_id;
  return record.type === "episode_closed" ? record.episode.study_id : record.study_id;
}

/** Bytes of a record at most: whoever reads it needs several times as much memory. */
const MOST_BYTES = 64 << 20;

function tooLong(type: string, size: string): UsageError {
  return new UsageError(
    `Cannot record ${type} as it has ${size}, of at most ${
      MOST_BYTES >> 20
    } MiB a record; keep what is long in a file, or log it in several parts`,
  );
}

/** Facts without the place of the files that they were read from, which is each machine's own. */
function unplaced<T extends { path: string }>(facts: T): T {
  return facts.path === "" ? facts : { ...facts, path: "." };
}

/**
 * A record as it is written: of an artifact its id alone says which it is, so that a store and its
 * artifacts may be moved or mounted elsewhere.
 */
function withoutPlaces(record: JournalRecord): JournalRecord {
  if (record.type === "artifact_written") {
    const { artifact } = record;
    const model = artifact.model === undefined ? {} : { model: unplaced(artifact.model) };
    return { ...record, artifact: { ...artifact, ...model, location: "." } };
  }
  if (record.type !== "study_opened") return record;
  const { model, student } = record.facts;
  const own = student === undefined ? {} : { student: unplaced(student) };
  return { ...record, facts: { ...record.facts, ...own, model: unplaced(model) } };
}

function encodePayload(record: JournalRecord): Uint8Array {
  let text: string;
  try {
    text = toJson(withoutPlaces(record));
  } catch (error) {
    if (error instanceof RangeError) throw tooLong(record.type, "more than a text can hold");
    throw error;
  }
  const payload = new TextEncoder().encode(text);
  if (payload.length > MOST_BYTES) {
    throw tooLong(record.type, `${(payload.length / 2 ** 20).toFixed(1)} MiB`);
  }
  return payload;
}

/** A record as one line of the journal, checked against its schema first. */
export function encodeLine(record: JournalRecord): Uint8Array {
  const checked = JournalRecord.safeParse(record);
  if (!checked.success) {
    const issue = checked.error.issues[0];
    throw new TypeError(
      `Cannot record ${(record as { type?: string }).type} as ${
        issue?.path.join(".")
      } is wrong: ${issue?.message}`,
    );
  }
  const payload = encodePayload(checked.data);
  const hex = (n: number): string => (n >>> 0).toString(16).padStart(8, "0");
  const header = `${RECORD_VERSION} ${hex(payload.length)} ${
    hex(checksum(String(RECORD_VERSION), payload))
  } `;
  const line = new Uint8Array(header.length + payload.length + 1);
  line.set(new TextEncoder().encode(header));
  line.set(payload, header.length);
  line[line.length - 1] = NEWLINE;
  return line;
}

/** What stands at a place of the journal. `next` is where the following record begins. */
export type Entry =
  | { kind: "record"; offset: number; next: number; record: JournalRecord }
  | {
    kind: "damaged";
    offset: number;
    next: number;
    reason: string;
    /** The trial named in what is left of the record. */
    trial_id: string | null;
  }
  | { kind: "newer"; offset: number; next: number; version: number };

function damaged(bytes: Uint8Array, from: number, to: number, base: number, reason: string): Entry {
  const text = new TextDecoder().decode(bytes.subarray(from, to));
  const trial_id = /"trial_id":"([^"]+)"/.exec(text)?.[1] ?? null;
  return { kind: "damaged", offset: base + from, next: base + to, reason, trial_id };
}

function readPayload(payload: Uint8Array, version: number): JournalRecord | string {
  try {
    const raw = upgradeRecord(version, fromJson(new TextDecoder().decode(payload)));
    const parsed = JournalRecord.safeParse(raw);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    return `does not fit its schema: ${issue?.path.join(".")}: ${issue?.message}`;
  } catch (error) {
    return `is not JSON: ${(error as Error).message}`;
  }
}

/** A whole record of a type that was not asked for: it is not decoded. */
export interface Skipped {
  kind: "skipped";
  next: number;
}

function isOfType(payload: Uint8Array, type: JournalRecord["type"]): boolean {
  const start = `{"type":"${type}"`;
  return new TextDecoder().decode(payload.subarray(0, start.length)) === start;
}

/** What stands before a payload: null where it cannot be read. */
function headerAt(bytes: Uint8Array, from: number) {
  const head = new TextDecoder().decode(bytes.subarray(from, from + MAX_HEADER));
  const found = HEADER.exec(head.slice(0, head.indexOf(" ") + 19));
  if (found === null) return null;
  const [text, version, size, sum] = found as unknown as [string, string, string, string];
  const start = from + text.length;
  return { version, start, end: start + parseInt(size, 16), sum: parseInt(sum, 16) };
}

const FIRST_FIELDS = /^\{"type":"([a-z_]+)","at":"([^"\\]+)"/;

/**
 * Type and time of the record that the bytes begin with, which its checksum alone vouches for: a tenth of
 * the work of reading it. Null: it is not whole there, or of another version, and `readEntry` says more.
 */
export function firstFields(
  bytes: Uint8Array,
): { readonly type: JournalRecord["type"]; readonly at: string } | null {
  const header = headerAt(bytes, 0);
  if (header === null || Number(header.version) !== RECORD_VERSION) return null;
  const { version, start, end, sum } = header;
  if (end >= bytes.length) return null;
  const payload = bytes.subarray(start, end);
  if (checksum(version, payload) !== sum) return null;
  const found = FIRST_FIELDS.exec(new TextDecoder().decode(payload.subarray(0, 128)));
  // What was written was checked against the schema before.
  return found === null ? null : { type: found[1] as JournalRecord["type"], at: found[2]! };
}

/**
 * Reads the entry at `from`; `base` is the place of `bytes` in the file. Null: the bytes end before
 * the entry does. The checksum decides, not the newline: a flipped newline costs no record. Whole
 * records of the type `without` are passed over.
 */
export function readEntry(
  bytes: Uint8Array,
  from: number,
  base: number,
  without?: JournalRecord["type"],
): Entry | Skipped | null {
  const header = headerAt(bytes, from);
  const newline = bytes.indexOf(NEWLINE, from);
  if (header === null) {
    if (newline < 0) return null;
    return damaged(bytes, from, newline + 1, base, "its header cannot be read");
  }
  const { start, end } = header;
  const line = newline < 0 ? null : newline + 1;
  if (end > bytes.length || (newline >= 0 && newline < end)) {
    return line === null
      ? null
      : damaged(bytes, from, line, base, "it is shorter than its header says");
  }
  const payload = bytes.subarray(start, end);
  if (checksum(header.version, payload) !== header.sum) {
    if (line === null) return null;
    return damaged(bytes, from, line, base, "its checksum does not match");
  }
  if (end === bytes.length) return null;
  const place = { offset: base + from, next: base + end + 1 };
  const version = Number(header.version);
  if (version > RECORD_VERSION) return { kind: "newer", ...place, version };
  if (without !== undefined && isOfType(payload, without)) {
    return { kind: "skipped", next: place.next };
  }
  const record = readPayload(payload, version);
  return typeof record === "string"
    ? damaged(bytes, from, end + 1, base, record)
    : { kind: "record", ...place, record };
}
