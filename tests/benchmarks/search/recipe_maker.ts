import type { ResolvedAction } from "../../../core/mod.ts";

/** A directory that a chain of actions ended in. */
export interface Made {
  readonly directory: string;
  readonly size_bytes: number;
  readonly seconds: number;
}

/** Where an action stands: its place from 0, and the methods up to it. */
export interface Place {
  readonly index: number;
  readonly name: string;
}

export type Apply = (parent: Made, action: ResolvedAction, place: Place) => Promise<Made>;

/** Makes recipes in turn: what one has in common with the one before it is not made again. */
export function maker(original: Made, apply: Apply) {
  let before: { readonly key: string; readonly made: Made }[] = [];
  return async (actions: readonly ResolvedAction[]): Promise<Made> => {
    const keys = actions.map((action) => JSON.stringify(action));
    const apart = keys.findIndex((key, index) => before[index]?.key !== key);
    before = before.slice(0, apart < 0 ? keys.length : apart);
    for (const [index, action] of actions.entries()) {
      if (index < before.length) continue;
      const name = actions.slice(0, index + 1).map(({ method }) => method).join("-");
      const parent = before.at(-1)?.made ?? original;
      before.push({ key: keys[index]!, made: await apply(parent, action, { index, name }) });
    }
    return before.at(-1)?.made ?? original;
  };
}
