/** A file that is sent as it is read: it is never held whole. */
export interface FileBody {
  readonly path: string;
  readonly bytes: number;
  /** Awaited before each part: keeps the sending quiet while something is timed. */
  readonly quiet: () => Promise<void>;
}

/** The server did not go on. */
export class Stalled extends Error {}

const PART_BYTES = 1 << 20;
/** A server puts a whole file in its place before it answers: as slow as this, at worst. */
const SERVER_BYTES_PER_MS = 10_000;

/** The file's bytes, read when they are asked for; `onPart` with how many there are so far. */
function parts(
  { path, quiet }: FileBody,
  onPart: (sent: number) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let file: Deno.FsFile | null = null;
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      file ??= await Deno.open(path, { read: true });
      await quiet();
      const part = new Uint8Array(PART_BYTES);
      const read = await file.read(part);
      if (read === null) {
        file.close();
        controller.close();
        return;
      }
      sent += read;
      onPart(sent);
      controller.enqueue(part.subarray(0, read));
    },
    cancel: () => file?.close(),
  }, { highWaterMark: 0 });
}

/**
 * Sends a request with a file as its body. It takes as long as it needs, but no part of it, and not
 * the answer, longer than `stall_ms` (and the time that a server needs to put the file in its place).
 */
export async function sendFile(
  body: FileBody,
  request: Request,
  send: typeof fetch,
  stall_ms: number,
): Promise<Response> {
  const stalled = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => stalled.abort(new Stalled("it stopped taking the file")), ms);
  };
  const quiet = async () => {
    clearTimeout(timer);
    await body.quiet();
    wait(stall_ms);
  };
  const onPart = (sent: number) => {
    wait(sent < body.bytes ? stall_ms : stall_ms + body.bytes / SERVER_BYTES_PER_MS);
  };
  wait(stall_ms);
  try {
    const stream = parts({ ...body, quiet }, onPart);
    const signal = AbortSignal.any([request.signal, stalled.signal]);
    return await send(new Request(request, { body: stream, signal }));
  } finally {
    clearTimeout(timer);
  }
}
