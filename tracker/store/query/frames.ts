import { deserialize, serialize } from "node:v8";

/** Bytes of the length that stands before each value. */
const HEAD = 4;

/** A value for a pipe, as structured cloning has it: JSON has no dates, NaN and infinities. */
export function frame(value: unknown): Uint8Array {
  const body: Uint8Array = serialize(value);
  const whole = new Uint8Array(HEAD + body.length);
  new DataView(whole.buffer).setUint32(0, body.length);
  whole.set(body, HEAD);
  return whole;
}

/** The values that a pipe brings, until it ends. Throws RangeError at one of more than `most` bytes. */
export async function* frames(
  pipe: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<unknown> {
  let waiting: Uint8Array[] = [];
  let held = 0;
  let length: number | null = null;
  const taken = (bytes: number): Uint8Array => {
    const joined = new Uint8Array(held);
    let at = 0;
    for (const part of waiting) {
      joined.set(part, at);
      at += part.length;
    }
    waiting = [joined.subarray(bytes)];
    held -= bytes;
    return joined.subarray(0, bytes);
  };
  for await (const part of pipe) {
    waiting.push(part);
    held += part.length;
    for (;;) {
      if (length === null) {
        if (held < HEAD) break;
        const head = taken(HEAD);
        length = new DataView(head.buffer, head.byteOffset).getUint32(0);
        if (length > most) throw new RangeError(`a value of ${length} bytes`);
      }
      if (held < length) break;
      const body = taken(length);
      length = null;
      yield deserialize(body);
    }
  }
}
