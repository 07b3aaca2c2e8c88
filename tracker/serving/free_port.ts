import { UsageError } from "../../core/mod.ts";

const FIRST_PORT = 8000;
const TRIES = 100;

/** Whether nobody listens there; throws where the address is none of this machine's. */
function isFree(hostname: string, port: number): boolean {
  try {
    Deno.listen({ hostname, port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw new UsageError(
      `Cannot serve on ${hostname}:${port}: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** The port that was asked for, where it is free; undefined: the first free one from 8000 on. */
export function portFor(hostname: string, asked: number | undefined): number {
  if (asked !== undefined) {
    if (isFree(hostname, asked)) return asked;
    throw new UsageError(
      `Cannot serve on ${hostname}:${asked} as another program listens there: name another --port, ` +
        "or leave it out for the first free one",
    );
  }
  for (let port = FIRST_PORT; port < FIRST_PORT + TRIES; port++) {
    if (isFree(hostname, port)) return port;
  }
  throw new UsageError(
    `Cannot serve on ${hostname}: none of the ports ${FIRST_PORT} to ${
      FIRST_PORT + TRIES - 1
    } is free`,
  );
}
