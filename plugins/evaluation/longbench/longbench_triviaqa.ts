import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const TRIVIAQA: LongBench = {
  name: "triviaqa",
  category: "few_shot",
  prompt: "Answer the question based on the given passage. Only give me the answer and do not " +
    "output any other words. The following are some examples.\n\n{context}\n\n{input}",
  tokens: 32,
  measure: "f1",
  plain: true,
  first_line: true,
  // TriviaQA without a text has that name.
  datasets: [],
};

export default longBench(TRIVIAQA);
