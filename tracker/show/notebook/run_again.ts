/** What of a lab's options is who is told: told anew by whoever opens it again. */
interface Listeners {
  readonly onSetup?: (line: string) => void;
  // deno-lint-ignore no-explicit-any -- whatever the lab tells is passed on
  readonly onEvent?: (event: any) => void;
  readonly onMirror?: (sentence: string) => void;
}

/** What makes two labs on one store different ones. */
interface Kind {
  readonly mlflow?: string;
  readonly maxDiskBytes?: number;
  readonly write?: boolean;
  readonly command?: string;
}

/** What is open until it is closed. */
interface Closing extends AsyncDisposable {
  close(): Promise<void>;
}

/** A lab that is open in this process, what it was opened with, and who is told at present. */
interface Open<Lab> {
  readonly lab: Lab;
  readonly kind: string;
  told: Listeners;
}

function kindOf({ mlflow, maxDiskBytes, write, command }: Kind): string {
  return JSON.stringify([mlflow, maxDiskBytes, write, command]);
}

/** The same options, told to whoever opened it last. */
function passedOn<Options extends Listeners>(options: Options, told: () => Listeners): Options {
  const { onEvent, onMirror } = options;
  return {
    ...options,
    onSetup: (line: string) => told().onSetup?.(line),
    ...(onEvent && { onEvent: (event: unknown) => told().onEvent?.(event) }),
    ...(onMirror && { onMirror: (sentence: string) => told().onMirror?.(sentence) }),
  };
}

/**
 * Opens a lab on a store, or gives the one that is open there; it tells the caller then, not who
 * opened it. With other options it is closed first, so that it never locks its own store. `dressed`
 * makes of it what cells are given.
 */
export function labsAgain<Lab extends Closing, Options extends Listeners & Kind>(
  rootOf: (options: Options) => string,
  make: (options: Options) => Promise<Lab>,
  dressed: (lab: Lab) => Lab = (lab) => lab,
): (options: Options) => Promise<Lab> {
  /** By store: the cells of one kernel share them. */
  const open = new Map<string, Promise<Open<Lab>>>();
  const openOne = async (root: string, options: Options): Promise<Open<Lab>> => {
    const one: { told: Listeners } = { told: options };
    const lab = await make(passedOn(options, () => one.told));
    const close = async () => {
      const there = open.get(root);
      open.delete(root);
      await lab.close();
      // One that was closed may have been opened again for a session of it: that is meant then.
      const again = await there?.catch(() => undefined);
      if (again !== undefined && again !== one) await again.lab.close();
    };
    return Object.assign(one, {
      lab: dressed({ ...lab, close, [Symbol.asyncDispose]: close }),
      kind: kindOf(options),
    });
  };
  return async (options) => {
    const root = rootOf(options);
    const known = await open.get(root)?.catch(() => undefined);
    if (known?.kind === kindOf(options)) {
      known.told = options;
      return known.lab;
    }
    await known?.lab.close();
    const opening = openOne(root, options);
    open.set(root, opening);
    try {
      return (await opening).lab;
    } catch (error) {
      open.delete(root);
      throw error;
    }
  };
}

/**
 * Gives what was begun for the same words once more; what failed is begun again. `dressed` makes of it
 * what a notebook's cells are given.
 */
export function sessionsAgain<Session>(
  inNotebook: boolean,
  dressed: (session: Session) => Session = (session) => session,
): (words: string, begin: () => Promise<Session>) => Promise<Session> {
  const known = new Map<string, Promise<Session>>();
  return (words, begin) => {
    const before = inNotebook ? known.get(words) : undefined;
    if (before !== undefined) return before;
    const begun = inNotebook ? begin().then(dressed) : begin();
    known.set(words, begun);
    begun.catch(() => known.delete(words));
    return begun;
  };
}
