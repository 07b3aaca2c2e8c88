import { z } from "zod";
import type { Endpoint } from "../schemas/endpoint.ts";

/**
 * What a worker finds imported: torch and transformers, or with them what reads benchmarks. A process that
 * has them already forks it, which saves seconds.
 */
export type Imports = "torch" | "tasks";

/** How a call is run. */
export interface HowCalled<Request> {
  /** Null: it imports what it needs by itself. */
  readonly imports: Imports | null;
  /** Whether a process that begins afresh imports torch before it is asked. */
  readonly preload: boolean;
  /** It times: one at a time on a machine, and nothing imports beside it. */
  readonly timed: boolean;
  /** It belongs to a trial, whose records name its log. */
  readonly of_trial: boolean;
  /** What its process uses is kept with the trial. */
  readonly sampled: boolean;
  /** The loop announces it itself, with more to say. */
  readonly told_by_loop: boolean;
  /** Servers that it waits for: silence of theirs is no stall. */
  servers(request: Request): readonly (Endpoint | undefined)[];
}

/**
 * A call: what `pare_backends/calls/NAME.py` is asked and what it answers. All that differs between calls is
 * said here.
 */
export function defineCall<
  const N extends string,
  Q extends z.ZodRawShape,
  R extends z.ZodType,
>(
  name: N,
  { request, result, ...how }:
    & { readonly request: Q; readonly result: R }
    & Partial<HowCalled<z.infer<z.ZodObject<Q>>>>,
) {
  return {
    name,
    request: z.strictObject({ call: z.literal(name), ...request }),
    result,
    imports: how.imports ?? null,
    preload: how.preload ?? (how.imports ?? null) !== null,
    timed: how.timed ?? false,
    of_trial: how.of_trial ?? false,
    sampled: how.sampled ?? false,
    told_by_loop: how.told_by_loop ?? false,
    servers: how.servers ?? (() => []),
  };
}
