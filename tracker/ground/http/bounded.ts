/** What a server says that nobody here trusts: no answer is longer, and no line of a stream. */
const MOST_BYTES = 4 << 20;
const MOST_LINE = 1 << 20;

/** The text of an answer; throws where it goes on. */
export async function boundedText(answer: Response, most = MOST_BYTES): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  for await (const part of answer.body ?? []) {
    bytes += part.length;
    if (bytes > most) throw new Error(`its answer is longer than ${most} bytes`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/** The data of a stream of server-sent events, an event each, as they come; throws where a line goes on. */
export async function* eventData(
  body: ReadableStream<Uint8Array>,
  most = MOST_LINE,
): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    if (rest.length > most) throw new Error(`a line of its answer is longer than ${most} bytes`);
    for (const line of lines) if (line.startsWith("data:")) yield line.slice(5).trim();
  }
}
