import type { z } from "zod";
import * as declared from "./declared.ts";
import type { HowCalled } from "./define_call.ts";

/**
 * The wire between the core and a Python worker: one JSON request on stdin,
 * `{ protocol, request_id, threads, request }`, and events as newline-delimited JSON on stdout. NaN and
 * infinities travel as the strings "NaN", "Infinity", "-Infinity" (see `WireNumber` of worker_event.ts).
 * Paths are absolute.
 */
export const PROTOCOL = 1;

/** Every call by its name. */
export const CALLS = declared satisfies { readonly [N in CallName]: { readonly name: N } };

export type CallName = keyof typeof declared;
type RequestOf = { readonly [N in CallName]: z.infer<(typeof declared)[N]["request"]> };
export type CallRequest<N extends CallName = CallName> = RequestOf[N];
export type CallResult<N extends CallName> = z.infer<(typeof declared)[N]["result"]>;

/** How a call is run, whichever it is. */
export function howCalled<N extends CallName>(name: N): HowCalled<CallRequest<N>> {
  return CALLS[name] as unknown as HowCalled<CallRequest<N>>; // the declaration of this very name
}
