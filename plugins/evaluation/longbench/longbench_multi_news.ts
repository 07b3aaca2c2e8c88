import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const MULTI_NEWS: LongBench = {
  name: "multi_news",
  category: "summarization",
  prompt: "You are given several news passages. Write a one-page summary of all news. \n\n" +
    "News:\n{context}\n\nNow, write a one-page summary of all the news.\n\nSummary:",
  tokens: 512,
  measure: "rouge_l",
};

export default longBench(MULTI_NEWS);
