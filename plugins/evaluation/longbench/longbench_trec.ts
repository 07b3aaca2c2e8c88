import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const TREC: LongBench = {
  name: "trec",
  category: "few_shot",
  prompt:
    "Please determine the type of the question below. Here are some examples of questions.\n" +
    "\n{context}\n{input}",
  tokens: 64,
  measure: "classification",
  // Of fifty classes.
  chance: 0.02,
  plain: true,
  first_line: true,
};

export default longBench(TREC);
