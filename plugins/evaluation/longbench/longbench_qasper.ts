import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const QASPER: LongBench = {
  name: "qasper",
  category: "single_document_qa",
  prompt: "You are given a scientific article and a question. Answer the question as concisely " +
    "as you can, using a single phrase or sentence if possible. If the question cannot be " +
    'answered based on the information in the article, write "unanswerable". If the ' +
    'question is a yes/no question, answer "yes", "no", or "unanswerable". Do not provide ' +
    "any explanation.\n\nArticle: {context}\n\n" +
    " Answer the question based on the above article as concisely as you can, using a " +
    "single phrase or sentence if possible. If the question cannot be answered based on " +
    'the information in the article, write "unanswerable". If the question is a yes/no ' +
    'question, answer "yes", "no", or "unanswerable". Do not provide any explanation.\n' +
    "\nQuestion: {input}\n\nAnswer:",
  tokens: 128,
  measure: "f1",
};

export default longBench(QASPER);
