/** A participant that hands out a damaged card, or damaged answers. */
import { readFileSync } from "node:fs";
import { UsageError } from "../../../core/errors.ts";
import {
  ParticipantAway,
  ParticipantRefused,
} from "../../../tracker/serving/participants/guarded_fetch.ts";
import { openParticipant } from "../../../tracker/serving/participants/participant.ts";
import { ANSWER, CARD, ID, OWN } from "./agent_files.ts";

let [card, answer] = [CARD, ANSWER];

/** Bytes that a text of latin1 stands for: what is no UTF-8 stays so. */
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const textOf = (path: string) => readFileSync(path, "latin1");

const server = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen() {} },
  async (request) => {
    const headers = { "content-type": "application/json" };
    const own = new URL(request.url).origin;
    if (request.method === "GET") {
      return new Response(bytesOf(card.replaceAll(OWN, own)), { headers });
    }
    const { id } = await request.json();
    return new Response(bytesOf(answer.replaceAll(`"${ID}"`, JSON.stringify(id))), { headers });
  },
);
const at = () => ({
  url: new URL(`http://127.0.0.1:${server.addr.port}/card.json`),
  ...{ key: "k", timeout_ms: 2_000 },
});

/** As `pare participants` says it. */
async function said<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const known = error instanceof ParticipantRefused || error instanceof ParticipantAway;
    throw known ? new UsageError(error.message) : error;
  }
}

export function readCard(path: string): Promise<unknown> {
  card = textOf(path);
  return said(() => openParticipant(at()));
}

export function readAnswer(path: string): Promise<unknown> {
  [card, answer] = [CARD, textOf(path)];
  return said(async () => await (await openParticipant(at())).ask("two and two?"));
}
