/** Longest line that a worker may write; a result is a few thousand numbers at most. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

/** Cuts a byte stream into lines of UTF-8; a line too long ends it with an error, or is told and skipped. */
export function createLineSplitter(
  { onLine, onOverflow, maxBytes = MAX_LINE_BYTES, skips = false }: {
    onLine: (line: string) => void;
    onOverflow: (bytes: number) => void;
    maxBytes?: number;
    /** Lines too long end nothing: what follows them is read. */
    skips?: boolean;
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
    if (part.length === 0 || overflown) return;
    parts.push(part);
    held += part.length;
  };

  return {
    push(chunk) {
      let rest = chunk;
      while (skips || !overflown) {
        const newline = rest.indexOf(10);
        hold(newline < 0 ? rest : rest.subarray(0, newline));
        if (held > maxBytes) {
          overflown = true;
          parts = [];
          onOverflow(held);
          held = 0;
          if (!skips) return;
        }
        if (newline < 0) return;
        if (!overflown) flush();
        overflown = false;
        rest = rest.subarray(newline + 1);
      }
    },
    end() {
      if (!overflown && held > 0) flush();
    },
  };
}
