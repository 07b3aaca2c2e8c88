/** Sends a Jupyter message of a type to the front end. */
export type Broadcast = (type: string, content: Record<string, unknown>) => Promise<void>;

/** The notebook kernel's broadcast; null outside a kernel, where Deno throws when it is asked for. */
export function kernelBroadcast(): Broadcast | null {
  try {
    return (Deno as unknown as { jupyter: { broadcast: Broadcast } }).jupyter.broadcast;
  } catch {
    return null;
  }
}

/** What a cell's last value shows, by media type. */
export type Media = Record<string, string>;

/** The name of what the Deno kernel calls on a cell's last value. */
export const DISPLAY = Symbol.for("Jupyter.display");

/** A cell's last value as the Deno kernel takes it. */
export interface Shown {
  [key: symbol]: () => Promise<Media>;
}

/**
 * Milliseconds between a display and the end of its cell. The kernel sends a display, a cell's value
 * and the cell's end by ways that do not wait for each other: a picture that comes after the end is
 * dropped by whoever runs the notebook (of 400 kB without a pause, four in ten were).
 */
export const DELIVERY_MS = 300;

/** A value that shows itself in a notebook. The kernel gets it as a display, with time to send it. */
export function shown(
  media: Media,
  broadcast: Broadcast | null = kernelBroadcast(),
  wait_ms = DELIVERY_MS,
): Shown {
  const show = async (): Promise<Media> => {
    if (broadcast === null) return media;
    await broadcast("display_data", { data: media, metadata: {}, transient: {} });
    await new Promise((resolve) => setTimeout(resolve, wait_ms));
    return {}; // it is shown already
  };
  return { [DISPLAY]: show };
}
