import { Stalled } from "./send_file.ts";

/** Of one answer: a page of a thousand runs takes a few MB. */
const ANSWER_BYTES = 64 << 20;
/** An answer that comes has so many times what the server has to begin it. */
const WHOLE_ANSWER = 10;

/** The text of an answer, whole within its time and of no more bytes than any answer has. */
export async function readAnswer(
  response: Response,
  begin_ms: number,
  limit = ANSWER_BYTES,
): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  let slow = false;
  const timer = setTimeout(() => {
    slow = true;
    void reader.cancel().catch(() => {});
  }, WHOLE_ANSWER * begin_ms);
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (slow) throw new Stalled(`its answer was not whole after ${WHOLE_ANSWER * begin_ms} ms`);
      if (done) return pieces.join("") + decoder.decode();
      bytes += value.length;
      if (bytes > limit) throw new Stalled(`its answer is longer than ${limit} bytes`);
      pieces.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
    void reader.cancel().catch(() => {});
  }
}
