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
