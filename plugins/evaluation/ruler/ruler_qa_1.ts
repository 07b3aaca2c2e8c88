import { ruler } from "./_ruler.ts";

export default ruler({
  task: "qa_1",
  summary: "questions of SQuAD among documents of other questions",
  tokens: 32,
  data_file: "ruler/dev-v2.0.json",
  any: true,
});
