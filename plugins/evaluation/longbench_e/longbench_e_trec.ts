import { longBench } from "../longbench/_longbench.ts";
import { TREC } from "../longbench/longbench_trec.ts";

export default longBench(TREC, "longbench_e");
