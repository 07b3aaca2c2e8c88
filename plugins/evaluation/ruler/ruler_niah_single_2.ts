import { inProse, ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_single_2",
  summary: "a number of a key, in prose",
  tokens: 128,
  ...inProse,
});
