import { longBench } from "../longbench/_longbench.ts";
import { REPOBENCH_P } from "../longbench/longbench_repobench_p.ts";

export default longBench(REPOBENCH_P, "longbench_e");
