import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const PASSAGE_COUNT: LongBench = {
  name: "passage_count",
  category: "synthetic",
  prompt: "There are some paragraphs below sourced from Wikipedia. Some of them may be " +
    "duplicates. Please carefully read these paragraphs and determine how many unique " +
    "paragraphs there are after removing duplicates. In other words, how many " +
    "non-repeating paragraphs are there in total?\n\n{context}\n\n" +
    "Please enter the final count of unique paragraphs after removing duplicates. The " +
    "output format should only contain the number, such as 1, 2, 3, and so on.\n\n" +
    "The final answer is: ",
  tokens: 32,
  measure: "count",
};

export default longBench(PASSAGE_COUNT);
