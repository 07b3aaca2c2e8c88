/**
 * Moments as events tell them and as a queue counts them. Events in a row mostly tell the same one: it is
 * written and read once, as either costs more than all else that is done about an event.
 */

const written = { time: NaN, text: "" };
const read = { time: NaN, text: "" };

/** As events tell it. `time`: milliseconds since 1970. */
export function momentText(time: number): string {
  if (time !== written.time) {
    written.text = new Date(time).toISOString();
    written.time = time;
  }
  return written.text;
}

/** Milliseconds since 1970. */
export function momentTime(text: string): number {
  if (text !== read.text) {
    read.time = Date.parse(text);
    read.text = text;
  }
  return read.time;
}
