import { inProse, ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_multivalue",
  summary: "four numbers of one key, in prose",
  tokens: 128,
  ...inProse,
});
