import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const LCC: LongBench = {
  name: "lcc",
  category: "code",
  prompt: "Please complete the code given below. \n{context}Next line of code:\n",
  tokens: 64,
  measure: "edit_similarity",
  plain: true,
};

export default longBench(LCC);
