import { execFile } from "node:child_process";
import process from "node:process";

const GONE = /\bis lost\b|fallen off|unable to determine the device handle|no devices were found/i;

function isLost(card: string): Promise<boolean> {
  const words = [`--id=${card}`, "--query-gpu=name", "--format=csv,noheader"];
  return new Promise((resolve) => {
    execFile("nvidia-smi", words, { timeout: 10_000 }, (error, said, complained) => {
      resolve(error !== null && GONE.test(said + complained));
    });
  });
}

/** Those of these cards that the driver says do not answer any more; where it says nothing of that, they do. */
export async function lostCards(cards: readonly string[]): Promise<string[]> {
  const lost = await Promise.all(cards.map(isLost));
  return cards.filter((_, at) => lost[at]);
}

/** That they are gone, in words. */
export function lostWords(cards: readonly string[]): string {
  return `${cards.length === 1 ? "card" : "cards"} ${cards.join(", ")} ${
    cards.length === 1 ? "does" : "do"
  } not answer any more`;
}

/** The cards that this process may use, as CUDA names them; empty where nobody said it, or it may use none. */
export function ownCards(): string[] {
  const named = process.env["CUDA_VISIBLE_DEVICES"]?.split(",").map((one) => one.trim()) ?? [];
  return named.filter((one) => /^(\d+|GPU-.+|MIG-.+)$/.test(one));
}
