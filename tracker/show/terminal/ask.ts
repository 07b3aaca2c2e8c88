import type { Ask } from "../../../core/mod.ts";

/** Answers nothing: `--yes`, or nobody there to ask. */
export function silentAsk(): Ask {
  return { interactive: false, number: () => Promise.resolve(null) };
}

/** Ctrl-C or the end of the input where an answer was asked for. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

type Read = (question: string) => string | null;

/** Asks up to three times for a number; an empty line takes the default, null is passed on. */
function askNumber(read: Read, question: string, fallback: number): number | null {
  for (let attempt = 0; attempt < 3; attempt++) {
    const answer = read(`${question} [${fallback}]`)?.trim();
    if (answer === undefined) return null;
    if (answer === "") return fallback;
    if (Number.isFinite(Number(answer))) return Number(answer);
  }
  return fallback;
}

/** Asks at the terminal. A question that is broken off is no consent: it throws `NoAnswer`. */
export function terminalAsk(read: Read): Ask {
  return {
    interactive: true,
    // deno-lint-ignore require-await -- what it throws must reach whoever awaits the answer
    async number(question, fallback) {
      const answer = askNumber(read, question, fallback);
      if (answer === null) throw new NoAnswer("The question was not answered: nothing was run");
      return answer;
    },
  };
}

/** Asks in the notebook's input line; a front end that has none takes the defaults. */
export function notebookAsk(read: Read = prompt): Ask {
  return {
    interactive: true,
    number: (question, fallback) => Promise.resolve(askNumber(read, question, fallback)),
  };
}

/** The terminal's questions where there is a terminal and nobody said `--yes`. */
export function chooseAsk(yes: boolean): Ask {
  const interactive = !yes && Deno.stdin.isTerminal() && Deno.stderr.isTerminal();
  return interactive ? terminalAsk((question) => prompt(question)) : silentAsk();
}
