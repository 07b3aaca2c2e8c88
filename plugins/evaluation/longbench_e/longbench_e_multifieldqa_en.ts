import { longBench } from "../longbench/_longbench.ts";
import { MULTIFIELDQA_EN } from "../longbench/longbench_multifieldqa_en.ts";

export default longBench(MULTIFIELDQA_EN, "longbench_e");
