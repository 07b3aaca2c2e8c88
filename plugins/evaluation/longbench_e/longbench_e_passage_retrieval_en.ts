import { longBench } from "../longbench/_longbench.ts";
import { PASSAGE_RETRIEVAL_EN } from "../longbench/longbench_passage_retrieval_en.ts";

export default longBench(PASSAGE_RETRIEVAL_EN, "longbench_e");
