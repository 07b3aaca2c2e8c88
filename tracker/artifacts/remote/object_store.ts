/**
 * Objects of an S3-compatible store. Each is small enough to be sent in one request, and is named by what
 * it holds or may be written again with the same meaning: no server is trusted with conditional writes,
 * with ranges, or with checking what arrives, as some do none of these.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AwsClient } from "aws4fetch";
import { UsageError } from "../../../core/mod.ts";
import { withoutSecrets } from "../../ground/http/without_secrets.ts";

/** Waits before a request is sent again. */
const WAITS_MS: readonly number[] = [200, 800, 3_000, 10_000];
/** Of one request, its answer included. */
const PATIENCE_MS = 120_000;
/** A list's pages that are read at most: a thousand names each. */
const MOST_PAGES = 1_000;

/** Where objects lie, and who asks. */
interface Bucket {
  /** Such as `https://s3.eu-central-1.amazonaws.com/bucket`. */
  readonly url: string;
  /** Before every name; empty, or with a slash at its end. */
  readonly prefix: string;
  readonly client: AwsClient;
  /** A server may say them back. */
  readonly secrets: readonly string[];
  readonly signal?: AbortSignal;
  readonly waits_ms: readonly number[];
}

export interface ObjectStore {
  /** As a person named it: `s3://bucket/prefix`. */
  readonly address: string;
  /** Bytes of an object; null: there is none. */
  size(name: string): Promise<number | null>;
  /** Sends an object, in the place of one that there is. */
  put(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** An object whole; null: there is none, or it has more bytes than `most`. */
  get(name: string, most: number): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Removes an object; one that is not there is no mistake. */
  remove(name: string): Promise<void>;
  /** Names that begin with a word, in their order. */
  list(word: string): Promise<string[]>;
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.\/=-]*))?$/;

function readAddress(address: string): { bucket: string; prefix: string } {
  const [, bucket, path = ""] = ADDRESS.exec(address) ?? [];
  const parts = path.split("/").filter((part) => part !== "");
  if (bucket === undefined || parts.some((part) => /^\.+$/.test(part))) {
    throw new UsageError(
      `Cannot use "${address}" as an object store: write s3://BUCKET/PREFIX, such as ` +
        "s3://my-models/pare",
    );
  }
  return { bucket, prefix: parts.map((part) => `${part}/`).join("") };
}

/** The object store at `s3://BUCKET/PREFIX`; keys, region and server are those of AWS's variables. */
export function openObjectStore(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
  { signal, waits_ms = WAITS_MS }: Partial<Pick<Bucket, "signal" | "waits_ms">> = {},
): ObjectStore {
  const { bucket, prefix } = readAddress(address);
  const [accessKeyId, secretAccessKey] = [env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]];
  if (!accessKeyId || !secretAccessKey) {
    throw new UsageError(
      `Cannot use ${address} without keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and ` +
        "AWS_ENDPOINT_URL where it is not Amazon's",
    );
  }
  const region = env["AWS_REGION"] || env["AWS_DEFAULT_REGION"] || "us-east-1";
  const sessionToken = env["AWS_SESSION_TOKEN"];
  const server = env["AWS_ENDPOINT_URL_S3"] || env["AWS_ENDPOINT_URL"] ||
    `https://s3.${region}.amazonaws.com`;
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol)) {
    const shown = server.replace(/^.*@/s, "…@").replace(/[?#].*$/s, "?…");
    throw new UsageError(`Cannot use AWS_ENDPOINT_URL "${shown}": write https://HOST:PORT`);
  }
  if (/[@?#]/.test(server)) {
    throw new UsageError(
      "Cannot use AWS_ENDPOINT_URL with a user, a password or a query: write https://HOST:PORT",
    );
  }
  const session = sessionToken ? { sessionToken } : {};
  const client = new AwsClient({
    ...{ accessKeyId, secretAccessKey, ...session, service: "s3", region, retries: 0 },
  });
  const at = {
    ...{ url: `${server.replace(/\/+$/, "")}/${bucket}`, prefix, client, waits_ms },
    secrets: [secretAccessKey, ...sessionToken ? [sessionToken] : []],
    ...(signal === undefined ? {} : { signal }),
  };
  return {
    address,
    size: (name) => sizeOf(at, name),
    put: (name, bytes) => put(at, name, bytes),
    get: (name, most) => get(at, name, most),
    remove: (name) => remove(at, name),
    list: (word) => list(at, word),
  };
}

/** What a request came to. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Why an answer cannot be used, and what is to be done; the body is XML, of which the code is read. */
function refused({ status, headers, body }: Answer): string {
  const [, code] = /<Code>(\w+)<\/Code>/.exec(new TextDecoder().decode(body.subarray(0, 4096))) ??
    [];
  const said = `it answered ${status}${code === undefined ? "" : ` ${code}`}`;
  const region = headers.get("x-amz-bucket-region");
  if (status >= 300 && status < 400) {
    return `${said}: the bucket lies elsewhere; set AWS_REGION${
      region === null ? "" : ` to ${region}`
    }`;
  }
  if (status === 403) return `${said}: look at the keys, and at what they may do there`;
  if (code === "NoSuchBucket") return `${said}: make the bucket first`;
  return said;
}

const passes = (status: number) => status === 429 || status >= 500;

/** Sends a request, again where what was in the way may pass. */
async function ask(
  { url, prefix, client, secrets, signal, waits_ms }: Bucket,
  what: string,
  { method, name = "", query = "", bytes = null, most = 1 << 20 }: {
    readonly method: "GET" | "PUT" | "HEAD" | "DELETE";
    readonly name?: string;
    readonly query?: string;
    readonly bytes?: Uint8Array<ArrayBuffer> | null;
    /** Bytes of the answer. */
    readonly most?: number;
  },
): Promise<Answer> {
  const path = name === ""
    ? ""
    : `/${(prefix + name).split("/").map(encodeURIComponent).join("/")}`;
  const headers = { "x-amz-content-sha256": sha256(bytes ?? new Uint8Array()) };
  for (let tries = 0;; tries++) {
    signal?.throwIfAborted();
    const limits = [AbortSignal.timeout(PATIENCE_MS), ...signal === undefined ? [] : [signal]];
    let why: string;
    try {
      const response = await client.fetch(`${url}${path}${query}`, {
        ...{ method, headers, redirect: "manual", signal: AbortSignal.any(limits) },
        ...(bytes === null ? {} : { body: bytes }),
      });
      const { status } = response;
      const answer = { status, headers: response.headers, body: await bodyOf(response, most) };
      if (status < 300 || status === 404 && method !== "PUT") {
        if (method !== "GET" || status === 404 || isWhole(answer, most)) return answer;
        why = "its answer was cut off";
      } else why = withoutSecrets(refused(answer), ...secrets);
      if (status >= 300 && !passes(status)) throw new UsageError(`Cannot ${what}: ${why}`);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      signal?.throwIfAborted();
      why = error instanceof Error ? error.message : String(error);
    }
    const wait = waits_ms[tries];
    if (wait === undefined) {
      throw new UsageError(`Cannot ${what}: ${why}; it was tried ${tries + 1} times`);
    }
    await delay(wait, undefined, signal === undefined ? {} : { signal });
  }
}

/** Bytes of an answer, up to one more than are wanted. */
async function bodyOf(response: Response, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    size += part.length;
    if (size > most) break;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function isWhole({ headers, body }: Answer, most: number): boolean {
  const told = headers.get("content-length");
  return told === null || body.length > most || Number(told) === body.length;
}

async function sizeOf(at: Bucket, name: string): Promise<number | null> {
  const { status, headers } = await ask(at, `look for ${name}`, { method: "HEAD", name });
  return status === 404 ? null : Number(headers.get("content-length") ?? 0);
}

async function put(at: Bucket, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  await ask(at, `send ${name}`, { method: "PUT", name, bytes });
}

async function remove(at: Bucket, name: string): Promise<void> {
  await ask(at, `remove ${name}`, { method: "DELETE", name });
}

async function get(
  at: Bucket,
  name: string,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { status, body } = await ask(at, `fetch ${name}`, { method: "GET", name, most });
  return status === 404 || body.length > most ? null : body;
}

const TEXTS = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" } as const;

/** What elements of an S3 answer hold; it has no nested ones of these names. */
function elements(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, text = ""]) =>
    text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, one: keyof typeof TEXTS) => TEXTS[one])
  );
}

/** A page of a list, whole: by what stands in none, such as a page to log in at, all would seem to be gone. */
function pageOf(body: Uint8Array, prefix: string): { keys: string[]; next: string | null } | null {
  const xml = new TextDecoder().decode(body).trimEnd();
  if (!/<ListBucketResult[\s>]/.test(xml) || !xml.endsWith("</ListBucketResult>")) return null;
  const keys = elements(xml, "Key");
  const [more] = elements(xml, "IsTruncated");
  const [next = more === "true" ? "" : null] = elements(xml, "NextContinuationToken");
  return next === "" || keys.some((key) => !key.startsWith(prefix)) ? null : { keys, next };
}

async function list(at: Bucket, word: string): Promise<string[]> {
  const found: string[] = [];
  const prefix = at.prefix + word;
  const what = `list what begins with ${prefix}`;
  for (let page = 0, token = ""; page < MOST_PAGES; page++) {
    const query = new URLSearchParams({
      ...{ "list-type": "2", prefix },
      ...(token === "" ? {} : { "continuation-token": token }),
    });
    const { status, body } = await ask(at, what, {
      ...{ method: "GET", query: `?${query}`, most: 16 << 20 },
    });
    if (status === 404) {
      throw new UsageError(`Cannot ${what}: there is no such bucket; make it first`);
    }
    const read = pageOf(body, prefix);
    if (read === null) throw new UsageError(`Cannot ${what}: its answer is no whole list`);
    found.push(...read.keys.map((key) => key.slice(at.prefix.length)));
    if (read.next === null) return found.sort();
    token = read.next;
  }
  throw new UsageError(`Cannot ${what}: it has more than ${1000 * MOST_PAGES} names`);
}
