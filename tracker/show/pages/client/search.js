/** A page whose rows are found by words, and whose tables are sorted. */
import { bringFind } from "./find.js";
import { bringTables } from "./sort.js";

if (typeof document !== "undefined") {
  bringTables(document);
  bringFind(document);
}
