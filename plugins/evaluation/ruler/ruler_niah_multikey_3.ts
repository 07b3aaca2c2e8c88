import { ruler } from "./_ruler.ts";

export default ruler({
  task: "niah_multikey_3",
  summary: "a uuid of a key that is one, among lines of others",
  tokens: 128,
});
