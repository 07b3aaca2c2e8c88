import type { Mutation } from "./mutations.ts";

/** A file whose bytes are damaged, and what must hold of whoever reads it. */
export interface Target {
  /** The file, as the store names it. */
  readonly file: string;
  readonly bytes: Uint8Array;
  /** It is of records, a line each. */
  readonly lines: boolean;
  /** So many of its mutations are tried, where each takes long; absent: all. */
  readonly most?: number;
  /** Finishes what others must go on with, or refuses. */
  readonly kind: "survivable" | "hopeless";
  /** Puts the mutation in the file's place, reads it as the product does, and checks. */
  check(mutation: Mutation): Promise<void> | void;
}

/** The value, or what it is refused with. */
export async function refusalOf<T>(
  read: () => T | Promise<T>,
): Promise<{ value: T } | { refusal: unknown }> {
  try {
    return { value: await read() };
  } catch (refusal) {
    return { refusal };
  }
}
