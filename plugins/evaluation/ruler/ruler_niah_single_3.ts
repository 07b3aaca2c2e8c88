import { inProse, ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_single_3",
  summary: "a uuid of a key, in prose",
  tokens: 128,
  ...inProse,
});
