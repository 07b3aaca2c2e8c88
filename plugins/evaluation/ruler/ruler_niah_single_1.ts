import { ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_single_1",
  summary: "a number of a key, in lines of noise",
  tokens: 128,
});
