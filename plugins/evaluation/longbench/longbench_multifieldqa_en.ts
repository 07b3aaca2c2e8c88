import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const MULTIFIELDQA_EN: LongBench = {
  name: "multifieldqa_en",
  category: "single_document_qa",
  prompt: "Read the following text and answer briefly.\n\n{context}\n\n" +
    "Now, answer the following question based on the above text, only give me the answer " +
    "and do not output any other words.\n\nQuestion: {input}\nAnswer:",
  tokens: 64,
  measure: "f1",
};

export default longBench(MULTIFIELDQA_EN);
