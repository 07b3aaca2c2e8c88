import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const HOTPOTQA: LongBench = {
  name: "hotpotqa",
  category: "multi_document_qa",
  prompt: "Answer the question based on the given passages. Only give me the answer and do not " +
    "output any other words.\n\nThe following are given passages.\n{context}\n\n" +
    "Answer the question based on the given passages. Only give me the answer and do not " +
    "output any other words.\n\nQuestion: {input}\nAnswer:",
  tokens: 32,
  measure: "f1",
};

export default longBench(HOTPOTQA);
