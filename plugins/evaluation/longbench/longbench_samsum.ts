import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const SAMSUM: LongBench = {
  name: "samsum",
  category: "few_shot",
  prompt: "Summarize the dialogue into a few short sentences. The following are some examples.\n" +
    "\n{context}\n\n{input}",
  tokens: 128,
  measure: "rouge_l",
  plain: true,
  first_line: true,
  one_line: true,
};

export default longBench(SAMSUM);
