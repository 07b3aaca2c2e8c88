import { ruler } from "./_ruler.ts";

export default ruler({
  task: "fwe",
  summary: "the three most frequent words of a coded text",
  tokens: 50,
});
