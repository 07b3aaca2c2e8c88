import {
  Action,
  type Answer,
  checkStrategy,
  defineSampler,
  firstObject,
  type Reading,
  resolveActions,
  type SearchContext,
  sizeLimits,
  strategyKey,
  type Trial,
  untried,
  usableMethods,
} from "../../core/mod.ts";
import { z } from "zod";
import { strategistPrompt } from "./_strategist_prompt.ts";

/** How often the model is asked for one recipe: once, and once more with why its answer was refused. */
const EXCHANGES = 2;
/** Characters of the model's own reason that are kept. */
const REASON_CHARS = 300;

/** What the model is to answer; whatever else its object holds is left out. */
const Reply = z.object({
  actions: z.array(Action).min(1).max(8),
  evidence: z.array(z.string()).max(100).default([]),
  reason: z.string().default("it gave none"),
});

/** One line of plain text: without control characters, and with nothing that a report would take for a tag or a link. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex
  const line = text.replaceAll(/[\s\u0000-\u001f\u007f]+/g, " ").trim().slice(0, REASON_CHARS);
  return line.replaceAll("<", "‹").replaceAll(">", "›").replaceAll("](", "] (");
}

/** The trial that had the recipe already, in words. */
function doubleOf(key: string, trials: readonly Trial[]): string {
  const before = trials.find(({ actions }) => strategyKey(actions) === key);
  return before === undefined ? "it was tried before" : `${before.trial_id} had this very recipe`;
}

/** Why a recipe cannot be run now; null: it can. */
function refusal(actions: readonly Action[], context: SearchContext): string | null {
  const methods = usableMethods(context);
  const { facts, spec, trials, budget } = context;
  const resolved = resolveActions(actions, methods, facts); // throws in words: a name, a knob, a value
  const limits = sizeLimits(spec);
  const support = checkStrategy(resolved, methods, facts, limits);
  if (!support.ok) return support.reason;
  if (!untried(context)(actions)) return doubleOf(strategyKey(resolved), trials);
  const seconds = context.predictSeconds(actions);
  if (budget.seconds_left !== null && seconds !== null && seconds > budget.seconds_left) {
    return `it needs about ${Math.ceil(seconds)} s, and ${
      Math.floor(budget.seconds_left)
    } s are left`;
  }
  return null;
}

/** What a reply proposes, or why it proposes nothing. */
function read(
  text: string,
  context: SearchContext,
  evidence: readonly string[],
): Reading<Answer> {
  const parsed = Reply.safeParse(firstObject(text)?.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = issue!.path.join(".");
    return {
      refused: place === ""
        ? "the answer holds no JSON object"
        : `the answer's ${place} is wrong: ${issue!.message}`,
    };
  }
  const { actions, reason } = parsed.data;
  const unknown = parsed.data.evidence.find((id) => !evidence.includes(id));
  if (unknown !== undefined) {
    return {
      refused: `the evidence names ${oneLine(unknown)}, which is no trial that it was told of`,
    };
  }
  try {
    const why = refusal(actions, context);
    if (why !== null) return { refused: why };
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
  const onFront = parsed.data.evidence.some((id) => context.front.includes(id));
  const rests = parsed.data.evidence.length === 0
    ? ""
    : ` (by ${parsed.data.evidence.slice(0, 10).join(", ")})`;
  const words = `the strategist: ${oneLine(reason)}${rests}`;
  return {
    value: { actions, origin: { mode: onFront ? "exploit" : "explore", reason: words } },
  };
}

/** Whether the latest recipe was its own: it takes every second turn at most. */
function wasLast({ trials }: SearchContext, name: string): boolean {
  return trials.findLast(({ strategy }) => strategy !== null)?.strategy?.origin.sampler === name;
}

/**
 * A language model behind an OpenAI-compatible endpoint proposes from the study's figures. Its answer
 * is checked as any recipe is before anything is run: an unknown name, a value out of range, a
 * combination that cannot run, a recipe that was tried, evidence that is not there are refused, and the
 * reason is fed back once. It takes every second turn at most; without an endpoint, or an answer, its
 * turn is the next sampler's.
 */
export default defineSampler({
  name: "strategist",
  summary: "Asks a language model (--strategist URL) what the figures so far suggest",
  async propose(context) {
    const { consult } = context;
    if (consult === undefined || usableMethods(context).length === 0) return null;
    if (wasLast(context, "strategist")) return null;
    const { messages, evidence } = strategistPrompt(context);
    for (let exchange = 0; exchange < EXCHANGES; exchange++) {
      const made = await consult({
        messages,
        evidence,
        read: (text) => read(text, context, evidence),
      });
      if ("value" in made) return made.value;
      if (made.reply === null) return null; // nobody there: another asking would not help
      const content = `Refused: ${made.refused}. Answer again with one JSON object.`;
      messages.push({ role: "assistant", content: made.reply }, { role: "user", content });
    }
    return null;
  },
});
