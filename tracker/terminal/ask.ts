import type { Ask } from "../../core/mod.ts";

/** Answers every question with its default: `--yes`, or no terminal to ask at. */
export function silentAsk(): Ask {
  return {
    interactive: false,
    number: (_question, fallback) => Promise.resolve(fallback),
    confirm: (_question, fallback) => Promise.resolve(fallback),
  };
}

/** Asks at the terminal, one short question at a time; an empty line takes the default. */
export function terminalAsk(read: (question: string) => string | null): Ask {
  return {
    interactive: true,
    number(question, fallback) {
      for (let attempt = 0; attempt < 3; attempt++) {
        const answer = (read(`${question} [${fallback}]`) ?? "").trim();
        if (answer === "") return Promise.resolve(fallback);
        if (Number.isFinite(Number(answer))) return Promise.resolve(Number(answer));
      }
      return Promise.resolve(fallback);
    },
    confirm(question, fallback) {
      const answer = (read(`${question} [${fallback ? "Y/n" : "y/N"}]`) ?? "").trim().toLowerCase();
      return Promise.resolve(answer === "" ? fallback : answer.startsWith("y"));
    },
  };
}

/** The terminal's questions where there is a terminal and nobody said `--yes`. */
export function chooseAsk(yes: boolean): Ask {
  const interactive = !yes && Deno.stdin.isTerminal() && Deno.stderr.isTerminal();
  return interactive ? terminalAsk((question) => prompt(question)) : silentAsk();
}
