import { longBench } from "../longbench/_longbench.ts";
import { PASSAGE_COUNT } from "../longbench/longbench_passage_count.ts";

export default longBench(PASSAGE_COUNT, "longbench_e");
