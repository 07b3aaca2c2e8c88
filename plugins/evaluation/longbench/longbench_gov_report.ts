import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const GOV_REPORT: LongBench = {
  name: "gov_report",
  category: "summarization",
  prompt:
    "You are given a report by a government agency. Write a one-page summary of the report.\n" +
    "\nReport:\n{context}\n\nNow, write a one-page summary of the report.\n\nSummary:",
  tokens: 512,
  measure: "rouge_l",
};

export default longBench(GOV_REPORT);
