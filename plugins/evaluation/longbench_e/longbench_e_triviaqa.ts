import { longBench } from "../longbench/_longbench.ts";
import { TRIVIAQA } from "../longbench/longbench_triviaqa.ts";

export default longBench(TRIVIAQA, "longbench_e");
