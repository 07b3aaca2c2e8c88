import ky, { isHTTPError, isNetworkError, isTimeoutError, type Options } from "ky";
import type { z } from "zod";
import { jsonOrNull } from "../../../ground/json_or_null.ts";
import { type Connection, redact } from "./connection.ts";
import { readAnswer } from "./read_answer.ts";
import { type FileBody, sendFile, Stalled } from "./send_file.ts";
import { uncheckedFetch } from "./unchecked_fetch.ts";
import { ErrorAnswer } from "./answers.ts";

/** What went wrong at the server or on the way to it. Its message holds no secret. */
export class MlflowError extends Error {
  override readonly name = "MlflowError";
  constructor(
    message: string,
    /** HTTP status; null: no answer came, or none that can be understood. */
    readonly status: number | null,
    /** MLflow's own code, such as RESOURCE_DOES_NOT_EXIST. */
    readonly code: string | null,
  ) {
    super(message);
  }

  /** A later try may succeed: the server was away, busy or broken. */
  get temporary(): boolean {
    return this.status === null || RETRIED.includes(this.status);
  }

  /** Nobody may write here as we are: no other request will fare better. */
  get forbidden(): boolean {
    return this.status === 401 || this.status === 403;
  }
}

const RETRIED = [408, 429, 500, 502, 503, 504];

/** How long and how often is tried. Milliseconds. */
export interface Patience {
  readonly timeout_ms: number;
  /** Tries after the first. */
  readonly retries: number;
  /** Pause before the first retry, doubled each time; `Retry-After` stands above it. */
  readonly backoff_ms: number;
  readonly longest_pause_ms: number;
}

/** For the first answer of a server: one that hangs is told soon, not after all tries. */
const FIRST_ANSWER_MS = 10_000;

export const PATIENCE: Patience = {
  timeout_ms: 30_000,
  retries: 4,
  backoff_ms: 500,
  longest_pause_ms: 30_000,
};

export interface Call<T> {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** Behind the server's address, without a slash at its start. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** JSON text, or a file, which is read as it is sent. */
  readonly body?: string | Uint8Array<ArrayBuffer> | FileBody;
  readonly answer: z.ZodType<T>;
  /**
   * Makes something new at each call: tried again only where the server refused to begin (429), as
   * what looks like a failure may have been done.
   */
  readonly creates?: boolean;
}

/** One request of an MLflow server, retried and checked. */
export type Caller = <T>(call: Call<T>) => Promise<T>;

/** How bytes reach a server: as its certificate is to be checked. */
function fetchOf({ certificates, insecure }: Connection): typeof fetch {
  if (insecure) return uncheckedFetch;
  if (certificates === null) return fetch;
  const client = Deno.createHttpClient({ caCerts: [certificates] });
  return (input, init) => fetch(input, { ...init, client });
}

/** The way to a server: back-off with jitter, `Retry-After`, time limits, answers checked by zod. */
export function openCaller(connection: Connection, patience: Patience = PATIENCE): Caller {
  const { base, authorization } = connection;
  const send = fetchOf(connection);
  const http = ky.create({
    redirect: "manual", // a redirect would turn POST into GET, or carry the call elsewhere
    timeout: patience.timeout_ms,
    headers: authorization === null ? {} : { authorization },
    fetch: send,
  });
  const retry = {
    limit: patience.retries,
    methods: ["get", "post", "put", "patch", "delete"],
    afterStatusCodes: RETRIED,
    delay: (attempt: number) => patience.backoff_ms * 2 ** (attempt - 1),
    jitter: (delay: number) => delay * (0.75 + Math.random() / 2),
    backoffLimit: patience.longest_pause_ms,
    maxRetryAfter: patience.longest_pause_ms,
  };

  let answered = false;
  return async ({ method, path, query = {}, body, answer, creates = false }) => {
    const what = `${method.toUpperCase()} ${base}/${path.split("?")[0]}`;
    try {
      const response = await http(`${base}/${path}`, {
        method,
        searchParams: query,
        ...(answered ? {} : { timeout: Math.min(FIRST_ANSWER_MS, patience.timeout_ms) }),
        ...bodyOptions(body, send, patience.timeout_ms),
        retry: creates
          ? {
            ...retry,
            statusCodes: [429],
            shouldRetry: ({ error }) => isHTTPError(error) ? undefined : false,
          }
          : { ...retry, statusCodes: RETRIED, retryOnTimeout: answered },
      });
      answered = true;
      const text = await readAnswer(response, patience.timeout_ms);
      const parsed = answer.safeParse(text === "" ? {} : parseExactly(text));
      if (parsed.success) return parsed.data;
      const issue = parsed.error.issues[0];
      throw new MlflowError(
        `Cannot read the answer to ${what}: ${issue?.path.join(".")} ${issue?.message}`,
        null,
        null,
      );
    } catch (error) {
      throw failureOf(error, what, connection);
    }
  };
}

function bodyOptions(body: Call<unknown>["body"], send: typeof fetch, stall_ms: number): Options {
  if (body === undefined) return {};
  if (typeof body === "string") return { body, headers: { "content-type": "application/json" } };
  if (body instanceof Uint8Array) return { body };
  // Every try opens the file anew: a body that ky knew of would be kept whole for the next one.
  return {
    timeout: false,
    headers: { "content-length": String(body.bytes) },
    fetch: (request) => sendFile(body, new Request(request), send, stall_ms),
  };
}

function failureOf(error: unknown, what: string, connection: Connection): MlflowError {
  if (error instanceof MlflowError) return error;
  if (isHTTPError(error)) {
    const { status, headers } = error.response;
    const data: unknown = typeof error.data === "string" ? jsonOrNull(error.data) : error.data;
    const said = ErrorAnswer.safeParse(data);
    const code = said.success ? redact(said.data.error_code, connection) : null;
    const target = headers.get("location")?.replace(/[?#].*$/s, "") ?? null; // a query may hold a key
    const reason = said.success
      ? `${code}: ${redact(said.data.message, connection).slice(0, 400)}`
      : target !== null
      ? `it is elsewhere; use the address ${target}`
      : redact(String(error.data ?? "no reason given"), connection).replaceAll(/<[^>]*>|\s+/g, " ")
        .slice(0, 200);
    return new MlflowError(
      redact(`The MLflow server refused ${what} (${status}): ${reason}`, connection),
      status,
      code,
    );
  }
  const reason = isTimeoutError(error)
    ? "it did not answer in time"
    : error instanceof Stalled
    ? error.message
    : isNetworkError(error)
    ? causeOf(error)
    : error instanceof SyntaxError
    ? "its answer is no JSON; is this an MLflow server?"
    : String(error);
  return new MlflowError(
    redact(`Cannot reach the MLflow server for ${what}: ${reason}`, connection),
    null,
    null,
  );
}

/** What the machine says of a certificate, and what to do. */
const CERTIFICATES: readonly [RegExp, string][] = [
  [
    /CaUsedAsEndEntity/,
    "its certificate is one of an authority (CA:TRUE), which no server may show; make one with " +
    "basicConstraints=CA:FALSE, or sign one with it",
  ],
  [
    /UnknownIssuer/,
    "nobody known has signed its certificate; name the issuer's in MLFLOW_TRACKING_SERVER_CERT_PATH",
  ],
];

function causeOf(error: Error): string {
  const cause = error.cause instanceof Error ? error.cause : error;
  const said = cause.cause instanceof Error ? cause.cause.message : cause.message;
  const certificate = CERTIFICATES.find(([pattern]) => pattern.test(said))?.[1];
  if (certificate !== undefined) return certificate;
  // Deno repeats the address, which may hold a user's name.
  return said.replace(/^error sending request for url \([^)]*\):? ?/, "") || "no connection";
}

/** JSON in which whole numbers that a double would round are texts. */
function parseExactly(text: string): unknown {
  const exact = (_key: string, value: unknown, context?: { source?: string }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    const source = context?.source ?? "";
    return /^-?\d+$/.test(source) ? source : value;
  };
  return JSON.parse(text, exact);
}

/** Everything of an answer that comes in pages. */
export async function* paged<A extends { next_page_token?: string | undefined }, T>(
  ask: (page_token: string | undefined) => Promise<A>,
  items: (answer: A) => readonly T[],
): AsyncGenerator<T> {
  let answer = await ask(undefined);
  yield* items(answer);
  while (answer.next_page_token) {
    answer = await ask(answer.next_page_token);
    yield* items(answer);
  }
}
