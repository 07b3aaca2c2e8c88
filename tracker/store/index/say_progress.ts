const SAID_EVERY_MS = 1_000;

/**
 * Says how far long work on a store is: a line on stderr a second, none for work that is done
 * within the first. `to` is the size of the journal that is taken over.
 */
export function sayProgress(what: string, to: number): (reached: number) => void {
  let said = performance.now();
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  return (reached) => {
    if (performance.now() - said < SAID_EVERY_MS) return;
    said = performance.now();
    console.error(`pare: ${what}, ${megabytes(reached)} of ${megabytes(to)} MB`);
  };
}
