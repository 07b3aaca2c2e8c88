import { ruler } from "./_ruler.ts";

export default ruler({
  task: "cwe",
  summary: "the ten most common words of a list",
  tokens: 120,
  example: true,
});
