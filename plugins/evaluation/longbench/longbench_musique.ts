import { longBench } from "./_longbench.ts";

export default longBench({
  name: "musique",
  category: "multi_document_qa",
  prompt: "Answer the question based on the given passages. Only give me the answer and do not " +
    "output any other words.\n\nThe following are given passages.\n{context}\n\n" +
    "Answer the question based on the given passages. Only give me the answer and do not " +
    "output any other words.\n\nQuestion: {input}\nAnswer:",
  tokens: 32,
  measure: "f1",
});
