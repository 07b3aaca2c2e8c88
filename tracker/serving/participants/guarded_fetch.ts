import { visibleText } from "../../../core/errors.ts";
import { withoutSecrets } from "../../ground/http/without_secrets.ts";

/** What a participant may send for one question: more is no answer. */
const MOST_ANSWER_BYTES = 4 << 20;

/** Networks that no participant elsewhere may send anyone to. */
const PRIVATE =
  /^(localhost|.*\.local|.*\.internal|0\.|10\.|127\.|169\.254\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[(::1?|f[cd].*|fe[89ab].*|::ffff:.*)\])/i;

/** Whether an address is of this machine or of a private network, by its name alone. */
export function isPrivate(url: URL): boolean {
  return PRIVATE.test(url.hostname);
}

/** What a participant did that is not taken: the sentence says it. */
export class ParticipantRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(visibleText(message), options);
  }
}

/** It cannot be reached now, or says that it is busy: another try may help. */
export class ParticipantAway extends Error {}

const AWAY = [408, 425, 429, 500, 502, 503, 504, 529];

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/i;

/** One address: names of this machine are alike. */
function originOf(url: URL): string {
  const host = LOOPBACK.test(url.hostname) ? "loopback" : url.hostname;
  const usual = url.protocol === "https:" ? "443" : "80";
  return `${url.protocol}//${host}:${url.port || usual}`;
}

/** Refuses an address that is not the participant's own. */
export function requireOwn(asked: URL, own: URL, what: string): void {
  if (originOf(asked) === originOf(own)) return;
  const where = isPrivate(asked) ? `the private address ${asked.origin}` : asked.origin;
  throw new ParticipantRefused(
    `${what} ${where}, which is not ${own.origin}: nothing is sent there`,
  );
}

/**
 * A fetch that asks the participant's own address alone, follows no redirect, and reads no more than
 * `most` bytes of an answer, streams included.
 */
export function guardedFetch(
  own: URL,
  headers: Readonly<Record<string, string>>,
  most = MOST_ANSWER_BYTES,
): typeof fetch {
  return async (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : String(input));
    requireOwn(asked, own, "its card names");
    const sent = new Headers(init?.headers);
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    const answer = await fetch(asked, { ...init, headers: sent, redirect: "manual" })
      .catch((error) => {
        if (init?.signal?.aborted) throw error;
        throw new ParticipantAway(`it cannot be reached (${String(error.message).slice(0, 120)})`);
      });
    if (AWAY.includes(answer.status)) {
      await answer.body?.cancel();
      throw new ParticipantAway(`it answers ${answer.status}`);
    }
    if (answer.status === 401 || answer.status === 403) {
      await answer.body?.cancel();
      throw new ParticipantRefused(`it refuses the key, or wants one (${answer.status})`);
    }
    if (answer.status >= 300 && answer.status < 400) {
      await answer.body?.cancel();
      const to = answer.headers.get("location") ?? "";
      const target = URL.canParse(to, asked) ? new URL(to, asked) : null;
      const where = target === null
        ? "nowhere"
        : isPrivate(target)
        ? `the private address ${target.origin}`
        : target.origin;
      throw new ParticipantRefused(
        `it redirects (${answer.status}) to ${where}: no question and no key is sent on`,
      );
    }
    const keys = Object.values(headers).map((one) => one.replace(/^Bearer /, ""));
    return heard(answer, most, (text) => withoutSecrets(text, ...keys));
  };
}

/** The answer, line by line as `clean` leaves it; its body ends in an error where it goes on. */
function heard(answer: Response, most: number, clean: (text: string) => string): Response {
  const said = Number(answer.headers.get("content-length") ?? 0);
  const tooLong = () =>
    new ParticipantRefused(`its answer is longer than ${(most / 2 ** 20).toFixed(1)} MB`);
  if (said > most) {
    answer.body?.cancel().catch(() => {}); // nobody waits for its end
    throw tooLong();
  }
  if (answer.body === null) return answer;
  let bytes = 0;
  const counted = answer.body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(part, controller) {
        bytes += part.length;
        if (bytes > most) controller.error(tooLong());
        else controller.enqueue(part);
      },
    }),
  );
  const { status, statusText } = answer;
  const lines = counted.pipeThrough(new TextDecoderStream()).pipeThrough(cleanedLines(clean))
    .pipeThrough(new TextEncoderStream());
  return new Response(lines, { status, statusText: clean(statusText), headers: answer.headers });
}

/** A stream's events are lines, and so come on; any other answer comes at its end. */
function cleanedLines(clean: (text: string) => string): TransformStream<string, string> {
  let rest: string[] = [];
  return new TransformStream({
    transform(part, controller) {
      const end = part.lastIndexOf("\n") + 1;
      if (end > 0) {
        controller.enqueue(clean(rest.join("") + part.slice(0, end)));
        rest = [];
      }
      rest.push(part.slice(end));
    },
    flush: (controller) => controller.enqueue(clean(rest.join(""))),
  });
}
