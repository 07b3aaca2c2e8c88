import { crc32 } from "node:zlib";
import { JobEvent } from "../../../core/mod.ts";

/**
 * Version of the lines; events of a later one are not read. From 2 on there are actions and prices.
 */
const VERSION = 2;

/** `1 9c2d41aa {...}`: version, CRC-32 of the JSON, the event. */
const LINE = /^(\d+) ([0-9a-f]{8}) (.*)$/s;

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, "0");
}

/** An event as a line of a queue's journal. */
export function queueLine(event: JobEvent): string {
  const json = JSON.stringify(JobEvent.parse(event));
  return `${VERSION} ${checksum(json)} ${json}\n`;
}

/** The event of a line, or why there is none. */
export function readQueueLine(line: string): JobEvent | string {
  const found = LINE.exec(line);
  if (found === null) return "it does not begin with a version and a checksum";
  const [, version, sum, json] = found;
  if (Number(version) > VERSION) return `it is of version ${version}, which a newer pare wrote`;
  if (checksum(json!) !== sum) return "its checksum does not match";
  const parsed = JobEvent.safeParse(JSON.parse(json!));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return `it does not fit its schema: ${issue?.path.join(".")}: ${issue?.message}`;
}
