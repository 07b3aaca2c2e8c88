import type { Alone } from "../../../../core/mod.ts";

/** A call's turn to be timed. */
export interface Turn {
  /** Settles once nothing of the study computes. */
  readonly begin: () => Promise<void>;
  /** The call's process has ended: others go on. */
  readonly end: () => void;
}

/**
 * Runs what is timed: from its turn on nothing of the study is beside it: no other call, and what `rest` gives
 * is held. A call that ends while it waits for its turn gives it back as it comes.
 */
export async function inItsTurn<T>(
  alone: Alone,
  rest: () => Disposable,
  run: (turn: Turn) => Promise<T>,
): Promise<T> {
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let taken: Promise<void> | undefined; // once, though a call runs again whose card was lost
  const begin = () => {
    taken ??= alone(async () => {
      using _resting = rest();
      begun.resolve();
      await ended.promise;
    });
    taken.catch(begun.reject);
    return begun.promise;
  };
  try {
    return await run({ begin, end: ended.resolve });
  } finally {
    ended.resolve();
    await taken;
  }
}
