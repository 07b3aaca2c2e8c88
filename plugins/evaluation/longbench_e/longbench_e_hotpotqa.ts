import { longBench } from "../longbench/_longbench.ts";
import { HOTPOTQA } from "../longbench/longbench_hotpotqa.ts";

export default longBench(HOTPOTQA, "longbench_e");
