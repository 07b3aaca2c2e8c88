import { z } from "zod";

const Name = z.string().regex(
  /^[a-z][a-z0-9_]{0,39}$/,
  "it must be of small letters, digits and _",
);

const Criterion = z.strictObject({
  name: Name,
  asks: z.string().min(1).describe("what a judge is asked of an answer, in a sentence"),
  weight: z.number().positive().default(1),
});

const Example = z.strictObject({
  question: z.string().min(1),
  reference: z.string().optional(),
  answer: z.string().min(1),
  other: z.string().optional().describe("of pairs: the answer that it stands beside"),
  scores: z.record(z.string(), z.int()).optional().describe("by criterion; of pairs none"),
  winner: z.enum(["answer", "other", "tie"]).optional().describe("of pairs"),
  because: z.string().optional(),
});

const Cut = z.strictObject({
  part: z.enum(["question", "reference", "answer"]),
  keep: z.enum(["start", "end", "ends"]).default("start").describe("ends: both"),
  least: z.int().nonnegative().default(200).describe("characters that stay"),
});

const Fields = z.strictObject({
  name: Name,
  about: z.string().min(1).describe("what is judged, as the judge is told"),
  mode: z.enum(["score", "pairwise"]).default("score").describe(
    "pairwise: which of two answers is better, asked in both orders",
  ),
  scale: z.tuple([z.int(), z.int()]).default([1, 5]).describe("whole numbers: worst and best"),
  criteria: z.array(Criterion).max(40).default([]),
  criteria_field: z.string().min(1).optional().describe(
    "field of the row with criteria of its own: a list of {asks, weight}; a weight below 0 is of " +
      "what an answer should not do",
  ),
  examples: z.array(Example).max(8).default([]),
  reason: z.boolean().default(true).describe("the judge gives its reason, then scores"),
  reply_tokens: z.int().min(16).max(4096).default(256).describe("of the judge's reply, at most"),
  cut: z.array(Cut).default([
    { part: "reference", keep: "start", least: 200 },
    { part: "answer", keep: "ends", least: 200 },
    { part: "question", keep: "ends", least: 200 },
  ]).describe("what loses its text first where all is too long for the judge, in this order"),
});

type Problem = (message: string, ...path: (string | number)[]) => void;

function checkExamples({ examples, mode, criteria, scale: [worst, best] }: Rubric, say: Problem) {
  const known = criteria.map(({ name }) => name);
  for (const [at, { scores, winner, other }] of examples.entries()) {
    const pair = winner !== undefined && other !== undefined;
    if (mode === "pairwise" && !pair) {
      say("an example of pairs has other and winner", "examples", at);
    }
    if (mode === "score" && scores === undefined) {
      say("an example has scores", "examples", at);
    }
    for (const [name, value] of Object.entries(scores ?? {})) {
      if (!known.includes(name)) {
        say(`no criterion is "${name}": they are ${known.join(", ")}`, "examples", at, "scores");
      } else if (value < worst || value > best) {
        say(`it must be from ${worst} to ${best}`, "examples", at, "scores", name);
      }
    }
  }
}

/**
 * By what a judge scores an answer: data, so that a user writes one as a YAML file. Its version is the
 * hash of its content.
 */
export const Rubric = Fields.superRefine((rubric, context) => {
  const say: Problem = (message, ...path) => context.addIssue({ code: "custom", message, path });
  const { criteria, criteria_field, mode, scale: [worst, best] } = rubric;
  if (worst >= best || best - worst > 100) {
    say("it goes from worst to best, by 100 at most", "scale");
  }
  const names = criteria.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) say(`"${twice}" stands twice`, "criteria");
  if (names.includes("reason")) say('"reason" is what the judge says of them', "criteria");
  if (criteria.length === 0 && criteria_field === undefined) say("one at least", "criteria");
  if (mode === "pairwise" && criteria_field !== undefined) {
    say("pairs are judged by the rubric's own criteria", "criteria_field");
  }
  checkExamples(rubric, say);
});
export type Rubric = z.output<typeof Fields>;
export type RubricInput = z.input<typeof Fields>;
