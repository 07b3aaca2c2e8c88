import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const REPOBENCH_P: LongBench = {
  name: "repobench-p",
  category: "code",
  prompt: "Please complete the code given below. \n{context}{input}Next line of code:\n",
  tokens: 64,
  measure: "edit_similarity",
  plain: true,
};

export default longBench(REPOBENCH_P);
