import { scenarios } from "./_scenarios.ts";

export default scenarios("autonomy", "Replies that leave people's own choices to them");
