import { inProse, ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_multiquery",
  summary: "the numbers of four keys, in prose",
  tokens: 128,
  ...inProse,
});
