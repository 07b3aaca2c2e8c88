import { scenarios } from "./_scenarios.ts";

export default scenarios("honesty", "Replies that deceive nobody");
