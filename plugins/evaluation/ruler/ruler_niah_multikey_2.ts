import { ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_multikey_2",
  summary: "a number of a key, among lines of other keys",
  tokens: 128,
});
