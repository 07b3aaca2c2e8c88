import { inProse, ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_multikey_1",
  summary: "a number of one of four keys, in prose",
  tokens: 128,
  ...inProse,
});
