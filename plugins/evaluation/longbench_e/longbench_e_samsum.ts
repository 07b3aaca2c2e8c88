import { longBench } from "../longbench/_longbench.ts";
import { SAMSUM } from "../longbench/longbench_samsum.ts";

export default longBench(SAMSUM, "longbench_e");
