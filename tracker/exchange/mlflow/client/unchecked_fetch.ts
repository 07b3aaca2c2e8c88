import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";

/** Answers of these have no body, and `Response` takes none. */
const BODILESS = [204, 304];

/**
 * `fetch` over https that takes any certificate, for MLFLOW_TRACKING_INSECURE_TLS: Deno's own
 * checks them for a single connection always. Redirects are not followed.
 */
export const uncheckedFetch: typeof fetch = (input, init) => {
  const request = new Request(input, init);
  if (!request.url.startsWith("https:")) return fetch(request);
  return new Promise((resolve, reject) => {
    const sent = requestHttps(request.url, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      rejectUnauthorized: false,
      signal: request.signal,
    }, (answer) => {
      const status = answer.statusCode ?? 0;
      const headers = new Headers();
      for (const [name, values] of Object.entries(answer.headersDistinct)) {
        for (const value of values ?? []) headers.append(name, value);
      }
      const bodiless = BODILESS.includes(status);
      if (bodiless) answer.resume();
      const body = bodiless ? null : Readable.toWeb(answer) as ReadableStream<Uint8Array>;
      resolve(new Response(body, { status, headers }));
    });
    const failed = (cause: Error) =>
      reject(
        request.signal.aborted ? request.signal.reason : new TypeError("fetch failed", { cause }),
      );
    sent.on("error", failed);
    // MLflow reads no body whose length is not said, but that of a file.
    if (!request.headers.has("content-length")) {
      request.arrayBuffer().then((bytes) => sent.end(new Uint8Array(bytes)), failed);
    } else if (request.body !== null) {
      Readable.fromWeb(request.body as Parameters<typeof Readable.fromWeb>[0]).on("error", failed)
        .pipe(sent);
    }
  });
};
