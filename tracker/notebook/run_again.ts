import { findHome } from "../home.ts";
import type { Lab, LabOptions } from "../lab.ts";

/** A lab that is open in this process, what it was opened with, and who is told at present. */
interface OpenLab {
  readonly lab: Lab;
  readonly kind: string;
  told: Pick<LabOptions, "onSetup" | "onEvent" | "onMirror">;
}

/** By store: the cells of one kernel share them. */
const openLabs = new Map<string, Promise<OpenLab>>();

/** What makes two labs on one store different ones. */
function kindOf({ mlflow, maxDiskBytes, write, command }: LabOptions): string {
  return JSON.stringify([mlflow, maxDiskBytes, write, command]);
}

async function openOne(
  root: string,
  options: LabOptions,
  make: (options: LabOptions) => Promise<Lab>,
): Promise<OpenLab> {
  const { onSetup, onEvent, onMirror, ...kept } = options;
  const told = { onSetup, onEvent, onMirror } as OpenLab["told"];
  const listeners = {
    onSetup: (line: string) => one.told.onSetup?.(line),
    ...(onEvent === undefined ? {} : {
      onEvent: (event: Parameters<typeof onEvent>[0]) => one.told.onEvent?.(event),
    }),
    ...(onMirror === undefined ? {} : {
      onMirror: (sentence: string) => one.told.onMirror?.(sentence),
    }),
  };
  const one: { told: OpenLab["told"] } = { told };
  const lab = await make({ ...kept, ...listeners });
  const close = async () => {
    openLabs.delete(root);
    await lab.close();
  };
  return Object.assign(one, {
    lab: { ...lab, close, [Symbol.asyncDispose]: close },
    kind: kindOf(options),
  });
}

/**
 * Opens a lab, or gives the one that is open on that store; it tells the caller then, not who opened
 * it. With other options it is closed first, so that it never locks its own store.
 */
export async function labAgain(
  options: LabOptions,
  make: (options: LabOptions) => Promise<Lab>,
): Promise<Lab> {
  const root = findHome(Deno.env.toObject(), options.store).store;
  const known = await openLabs.get(root)?.catch(() => null);
  if (known != null && known.kind === kindOf(options)) {
    const { onSetup, onEvent, onMirror } = options;
    known.told = { onSetup, onEvent, onMirror } as OpenLab["told"];
    return known.lab;
  }
  await known?.lab.close();
  const opening = openOne(root, options, make);
  openLabs.set(root, opening);
  try {
    return (await opening).lab;
  } catch (error) {
    openLabs.delete(root);
    throw error;
  }
}

/** Gives what was begun for the same words once more; what failed is begun again. */
export function sessionsAgain<Session>(
  inNotebook: boolean,
): (words: string, begin: () => Promise<Session>) => Promise<Session> {
  const known = new Map<string, Promise<Session>>();
  return (words, begin) => {
    const before = inNotebook ? known.get(words) : undefined;
    if (before !== undefined) return before;
    const begun = begin();
    known.set(words, begun);
    begun.catch(() => known.delete(words));
    return begun;
  };
}
