import { unknownName, UsageError } from "../../../errors.ts";
import { type Card, CARDS, NO_SUCH_CARD } from "./card_table.ts";

/** So many cards of one kind. */
export interface Cards {
  readonly count: number;
  readonly card: Card;
  /** What was asked for and cannot be, with what was taken in its place. */
  readonly corrections: readonly string[];
}

const MOST_CARDS = 1024;

/** `H100-80GB`, `h100_80` and `H100 80` name the same card. */
function bare(name: string): string {
  return name.trim().toUpperCase().replaceAll(/[\s_]+/g, "-").replace(/(\d)(GB|G)$/, "$1")
    .replace(/^NVIDIA-/, "").replace(/^AMD-INSTINCT-/, "");
}

function find(name: string): Card | undefined {
  const short = name.replaceAll("-", "");
  return CARDS.find((card) => card.name === name || card.aliases.includes(name)) ??
    CARDS.find((card) =>
      [card.name, ...card.aliases].some((one) => one.replaceAll("-", "") === short)
    );
}

/**
 * Reads `8xH100-80`, `H200` or `2x4090`.
 *
 * @throws UsageError the card is not known, or the count is none
 */
export function readCards(text: string): Cards {
  const found = /^\s*(?:(\d+)\s*[x×*]\s*)?(\S.*)$/i.exec(text);
  const count = Number(found?.[1] ?? 1);
  if (found === null || count < 1 || count > MOST_CARDS) {
    throw new UsageError(
      `Cannot read the cards "${text}": give a count from 1 to ${MOST_CARDS} and a name, such as 8xH100-80`,
    );
  }
  const name = bare(found[2]!);
  const wrong = NO_SUCH_CARD[name];
  const card = find(wrong?.means ?? name);
  if (card === undefined) {
    throw new UsageError(unknownName("card", found[2]!, CARDS.map((one) => one.name)));
  }
  return {
    count,
    card,
    corrections: wrong === undefined
      ? []
      : [`No card has what ${name} says: ${wrong.why}. The plan is for ${card.name}`],
  };
}
