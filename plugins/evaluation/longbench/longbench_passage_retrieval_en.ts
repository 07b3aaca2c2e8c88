import { type LongBench, longBench } from "./_longbench.ts";

/** LongBench-E asks the same of other samples. */
export const PASSAGE_RETRIEVAL_EN: LongBench = {
  name: "passage_retrieval_en",
  category: "synthetic",
  prompt: "Here are 30 paragraphs from Wikipedia, along with an abstract. Please determine which " +
    "paragraph the abstract is from.\n\n{context}\n\nThe following is an abstract.\n\n" +
    "{input}\n\n" +
    "Please enter the number of the paragraph that the abstract is from. The answer format " +
    'must be like "Paragraph 1", "Paragraph 2", etc.\n\nThe answer is: ',
  tokens: 32,
  measure: "retrieval",
  // Of thirty paragraphs.
  chance: 1 / 30,
};

export default longBench(PASSAGE_RETRIEVAL_EN);
