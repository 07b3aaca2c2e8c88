import { longBench } from "../longbench/_longbench.ts";
import { QASPER } from "../longbench/longbench_qasper.ts";

export default longBench(QASPER, "longbench_e");
