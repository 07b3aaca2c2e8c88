import { longBench } from "../longbench/_longbench.ts";
import { MULTI_NEWS } from "../longbench/longbench_multi_news.ts";

export default longBench(MULTI_NEWS, "longbench_e");
