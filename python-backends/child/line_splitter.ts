/** Longest line that a worker may write; a result is a few thousand numbers at most. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

/** Cuts a byte stream into lines of UTF-8; a line too long ends it with an error. */
export function createLineSplitter(
  { onLine, onOverflow, maxBytes = MAX_LINE_BYTES }: {
    onLine: (line: string) => void;
    onOverflow: (bytes: number) => void;
    maxBytes?: number;
  },
): { push(chunk: Uint8Array): void; end(): void } {
  const decoder = new TextDecoder();
  let parts: Uint8Array[] = [];
  let held = 0;
  let overflown = false;

  const flush = () => {
    const line = new Uint8Array(held);
    let at = 0;
    for (const part of parts) {
      line.set(part, at);
      at += part.length;
    }
    parts = [];
    held = 0;
    const text = decoder.decode(line);
    if (text.trim() !== "") onLine(text);
  };

  const hold = (part: Uint8Array) => {
    if (part.length === 0) return;
    parts.push(part);
    held += part.length;
  };

  return {
    push(chunk) {
      let rest = chunk;
      while (!overflown) {
        const newline = rest.indexOf(10);
        hold(newline < 0 ? rest : rest.subarray(0, newline));
        if (held > maxBytes) {
          overflown = true;
          parts = [];
          onOverflow(held);
          return;
        }
        if (newline < 0) return;
        flush();
        rest = rest.subarray(newline + 1);
      }
    },
    end() {
      if (!overflown && held > 0) flush();
    },
  };
}
