import { ruler } from "./_ruler.ts";

export default ruler({
  task: "vt",
  summary: "all variables that a chain of assignments gives one value",
  tokens: 30,
});
