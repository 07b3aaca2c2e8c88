import {
  DISPLAY,
  kernelBroadcast,
  type Media,
  type Shown,
  shown,
} from "../../ground/terminal/kernel.ts";

/** A value that a cell shows by itself. */
export type Displayed<Value> = Value & Shown;

/** Adds what a cell shows of a value; printed, compared or copied the value is as it was. */
export function displayed<Value extends object>(
  value: Value,
  media: () => Media | Promise<Media>,
): Displayed<Value> {
  const show = async () => await shown(await media())[DISPLAY]!();
  return Object.defineProperty(value, DISPLAY, {
    value: show,
    configurable: true,
  }) as Displayed<Value>;
}

/**
 * Shows in the midst of a cell whatever would show itself as its last value, and waits until the
 * notebook has it. Outside a notebook it prints the plain text.
 */
export async function show(value: unknown): Promise<void> {
  const display = (value as Partial<Shown> | null | undefined)?.[DISPLAY];
  if (typeof display !== "function") return console.log(value);
  const media = await display.call(value);
  if (kernelBroadcast() === null) console.log(media["text/plain"] ?? "");
}
