import type { BoardEvent, JournalWatch, Watched } from "../follow.ts";
import { eventsFrom } from "../follow.ts";

/** A comment now and then tells a dead connection from a quiet study. */
const BEAT_MS = 15_000;

function lines(event: BoardEvent): string {
  return `id: ${event.position}\nevent: record\ndata: ${JSON.stringify(event)}\n\n`;
}

/**
 * A study's records as server-sent events: first those behind `from`, then each as it is written.
 * Null: only new ones.
 */
export function eventStream(
  watch: JournalWatch,
  watched: Watched,
  from: number | null,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let end = () => {};
  return new ReadableStream({
    async start(controller) {
      let sent = from ?? -1;
      let waiting: BoardEvent[] | null = []; // until the past is told
      const send = (event: BoardEvent) => {
        if (event.position <= sent) return;
        sent = event.position;
        controller.enqueue(encoder.encode(lines(event)));
      };
      const listening = watch.listen(watched, (event) => {
        if (waiting === null) send(event);
        else waiting.push(event);
      });
      const beat = setInterval(() => controller.enqueue(encoder.encode(": \n\n")), BEAT_MS);
      let ended = false;
      end = () => {
        if (ended) return;
        ended = true;
        clearInterval(beat);
        listening[Symbol.dispose]();
      };
      signal.addEventListener("abort", () => {
        if (!ended) controller.close();
        end();
      }, { once: true });
      controller.enqueue(encoder.encode("retry: 1000\n\n"));
      const past = from === null ? [] : (await eventsFrom(watched, from)).events;
      if (ended) return;
      for (const event of [...past, ...waiting]) send(event);
      waiting = null;
    },
    cancel: () => end(),
  });
}
