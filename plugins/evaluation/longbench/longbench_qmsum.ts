import { longBench } from "./_longbench.ts";

export default longBench({
  name: "qmsum",
  category: "summarization",
  prompt: "You are given a meeting transcript and a query containing a question or instruction. " +
    "Answer the query in one or more sentences.\n\nTranscript:\n{context}\n\n" +
    "Now, answer the query based on the above meeting transcript in one or more sentences.\n" +
    "\nQuery: {input}\nAnswer:",
  tokens: 512,
  measure: "rouge_l",
});
