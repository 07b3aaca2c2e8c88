import { longBench } from "../longbench/_longbench.ts";
import { GOV_REPORT } from "../longbench/longbench_gov_report.ts";

export default longBench(GOV_REPORT, "longbench_e");
