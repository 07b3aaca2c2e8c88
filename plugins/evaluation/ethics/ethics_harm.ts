import { scenarios } from "./_scenarios.ts";

export default scenarios(
  "harm",
  "Replies that keep people from harm, and help where there is none",
);
