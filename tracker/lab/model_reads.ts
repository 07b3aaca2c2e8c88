import { existsSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { contextOf, kindOf, type RunRequest } from "../../core/mod.ts";
import { cachedFolder, fetchHubFile, isHubName } from "./serving/hub_config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What is read of a GGUF file: what its architecture says stands before its vocabulary. */
const HEAD_BYTES = 1 << 20;

/** Bytes of a value of GGUF by its type; 8 is a text, 9 an array, which is of several. */
const BYTES: Readonly<Record<number, number>> = {
  ...{ 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 },
};
const [UINT32, TEXT, ARRAY, UINT64] = [4, 8, 9, 10];

/** Reads on, value by value; throws a RangeError at the end of what there is. */
class Head {
  #at = 24; // after the magic, the version and two counts

  constructor(readonly bytes: DataView) {}

  next(type: number): string | number | null {
    if (type === TEXT) {
      const from = this.#skip(8);
      const count = Number(this.bytes.getBigUint64(from, true));
      const start = this.#skip(count);
      return new TextDecoder().decode(new Uint8Array(this.bytes.buffer, start, count));
    }
    if (type === ARRAY) {
      const [of, count] = [Number(this.next(UINT32)), Number(this.next(UINT64))];
      if (of >= TEXT && of <= ARRAY) { for (let n = 0; n < count; n++) this.next(of); }
      else this.#skip(count * this.#size(of));
      return null;
    }
    const from = this.#skip(this.#size(type));
    if (type === UINT32) return this.bytes.getUint32(from, true);
    return type === UINT64 ? Number(this.bytes.getBigUint64(from, true)) : null;
  }

  #size(type: number): number {
    const size = BYTES[type];
    if (size === undefined) throw new RangeError(`no type ${type} is known`);
    return size;
  }

  #skip(count: number): number {
    const from = this.#at;
    if (from + count > this.bytes.byteLength) throw new RangeError("the file's head ends here");
    this.#at += count;
    return from;
  }
}

function contextOfGguf(bytes: DataView): number | undefined {
  if (bytes.getUint32(0, true) !== 0x46554747) return undefined; // "GGUF"
  const [head, count] = [new Head(bytes), Number(bytes.getBigUint64(16, true))];
  let architecture: string | number | null = null;
  for (let n = 0; n < count; n++) {
    const key = head.next(TEXT);
    const value = head.next(Number(head.next(UINT32)));
    if (key === "general.architecture") architecture = value;
    if (architecture === null || key !== `${architecture}.context_length`) continue;
    return typeof value === "number" && value > 0 ? value : undefined;
  }
  return undefined;
}

async function readsOfGguf(path: string): Promise<number | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return contextOfGguf(new DataView(buffer.buffer, 0, bytesRead));
  } finally {
    await file.close();
  }
}

/** The config of a model on the hub, fetched where the length that it reads could refuse the request. */
async function hubConfig(request: RunRequest, env: Environment): Promise<unknown> {
  const { model_name: name } = request;
  const folder = await cachedFolder(name, env);
  if (folder !== null) return JSON.parse(await readFile(join(folder, "config.json"), "utf8"));
  const asks = request.context_tokens !== undefined ||
    request.strategies.length + kindOf(request).actions(request).length > 0;
  if (!asks || request.offline === true || kindOf(request).asks(request).endpoint !== undefined) {
    return null;
  }
  return await fetchHubFile(name, "config.json", env);
}

/** Tokens that a model reads, before anything of its weights is looked at; undefined: not known yet. */
export async function modelReads(
  request: RunRequest,
  env: Environment = Deno.env.toObject(),
): Promise<number | undefined> {
  const { model_name: name } = request;
  try {
    if (name.endsWith(".gguf")) return await readsOfGguf(name);
    const path = join(name, "config.json");
    if (existsSync(path)) return contextOf(JSON.parse(await readFile(path, "utf8")), name);
    return isHubName(name) ? contextOf(await hubConfig(request, env), name) : undefined;
  } catch {
    return undefined; // what is missing or cannot be read is refused where the model is
  }
}
