/** An assistant's messages over streams, one a line. */
import type { Readable, Writable } from "node:stream";
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  type Transport,
} from "@modelcontextprotocol/server";
import { createLineSplitter } from "../../python-backends/child/line_splitter.ts";

/** Bytes of a line: a question, or a study document with all that it may say. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Requests under way; the next ones wait in the pipe, and take no memory here. */
const MOST_UNDER_WAY = 32;

/** The id of what may not even be a request; null: it has none. */
function idOf(value: unknown): RequestId | null {
  const { id } = (value ?? {}) as { id?: unknown };
  return typeof id === "string" || Number.isInteger(id) ? id as RequestId : null;
}

/**
 * Reads and writes whole lines. What is no request is refused in one error, a line too long too, and the
 * next one is read: the library's own transport drops the one without a word and ends at the other.
 */
export class LineTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onerror?: Transport["onerror"];
  onclose?: Transport["onclose"];
  /** Settles when the other side has gone. */
  readonly closed: Promise<void>;
  readonly #close = Promise.withResolvers<void>();
  readonly #under_way = new Set<RequestId>();
  #open = true;

  constructor(private readonly input: Readable, private readonly output: Writable) {
    this.closed = this.#close.promise;
  }

  start(): Promise<void> {
    const lines = createLineSplitter({
      onLine: (line) => this.#take(line),
      onOverflow: () => {
        const why = `Cannot read a line of more than ${MOST_BYTES} bytes: ask for less at once`;
        this.#refuse(null, ProtocolErrorCode.InvalidRequest, why);
      },
      maxBytes: MOST_BYTES,
      skips: true,
    });
    const gone = () => void this.close();
    this.input.on("data", (chunk: Uint8Array) => lines.push(chunk)); // no encoding is set
    this.input.on("end", gone).on("close", gone).on("error", gone);
    this.output.on("error", gone);
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(message);
    if (isJSONRPCResponse(message) && message.id !== undefined) this.#settle(message.id);
  }

  close(): Promise<void> {
    if (this.#open) {
      this.#open = false;
      this.#close.resolve();
      this.onclose?.();
    }
    return Promise.resolve();
  }

  /** Once it is in the pipe: who does not read is asked to wait, and keeps nothing here. */
  #write(message: unknown): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.output.write(
      `${JSON.stringify(message)}\n`,
      (error) => error ? reject(error) : resolve(),
    );
    return promise;
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    this.#write({ jsonrpc: "2.0", id, error: { code, message } }).catch((error) =>
      this.onerror?.(error)
    );
  }

  #settle(id: RequestId): void {
    this.#under_way.delete(id);
    if (this.#under_way.size < MOST_UNDER_WAY && this.input.isPaused()) this.input.resume();
  }

  #take(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      const why = "Cannot read a line that is no JSON: a request is a line of it";
      return this.#refuse(null, ProtocolErrorCode.ParseError, why);
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      const why = Array.isArray(value)
        ? "Cannot take several requests in one line: give each a line of its own"
        : "Cannot take what is no request of JSON-RPC 2.0: it has jsonrpc, id, method and params";
      return this.#refuse(idOf(value), ProtocolErrorCode.InvalidRequest, why);
    }
    if (isJSONRPCRequest(message)) {
      const { id } = message;
      if (this.#under_way.has(id)) {
        const why = `Cannot take a second request ${
          JSON.stringify(id)
        } while the first is under way`;
        return this.#refuse(id, ProtocolErrorCode.InvalidRequest, why.slice(0, 200));
      }
      this.#under_way.add(id);
      if (this.#under_way.size >= MOST_UNDER_WAY) this.input.pause();
    }
    this.onmessage?.(message);
    if (!isJSONRPCNotification(message) || message.method !== "notifications/cancelled") return;
    const cancelled = idOf({ id: message.params?.["requestId"] });
    if (cancelled !== null) this.#settle(cancelled); // it is not answered any more
  }
}
