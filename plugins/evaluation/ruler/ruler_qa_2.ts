import { ruler } from "./_ruler.ts";

export default ruler({
  task: "qa_2",
  summary: "questions of HotpotQA among documents of other questions",
  tokens: 32,
  data_file: "ruler/hotpot_dev_distractor_v1.json",
  any: true,
});
