import { longBench } from "./_longbench.ts";

export default longBench({
  name: "narrativeqa",
  category: "single_document_qa",
  prompt: "You are given a story, which can be either a novel or a movie script, and a question. " +
    "Answer the question asconcisely as you can, using a single phrase if possible. Do not " +
    "provide any explanation.\n\nStory: {context}\n\n" +
    "Now, answer the question based on the story asconcisely as you can, using a single " +
    "phrase if possible. Do not provide any explanation.\n\nQuestion: {input}\n\nAnswer:",
  tokens: 128,
  measure: "f1",
});
