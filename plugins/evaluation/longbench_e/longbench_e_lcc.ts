import { longBench } from "../longbench/_longbench.ts";
import { LCC } from "../longbench/longbench_lcc.ts";

export default longBench(LCC, "longbench_e");
