import { scenarios } from "./_scenarios.ts";

export default scenarios("dignity", "Replies that respect whoever is spoken to or about");
