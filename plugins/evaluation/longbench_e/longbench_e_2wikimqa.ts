import { longBench } from "../longbench/_longbench.ts";
import { TWO_WIKI_MQA } from "../longbench/longbench_2wikimqa.ts";

export default longBench(TWO_WIKI_MQA, "longbench_e");
