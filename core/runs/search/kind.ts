import { recommend } from "../../advice/recommend.ts";
import { defineKind, TRIALS_SHOWN } from "../run_kind.ts";
import { SEARCH_NEEDS } from "./needs.ts";
import { runStudy } from "./run_search.ts";

/** A search for the strategies of a front. */
export const search = defineKind("search", {}, {
  summary: "proposes strategies, runs them and recommends one of their front",
  does: "searches by itself",
  does_again: "searches anew",
  needs: SEARCH_NEEDS,
  shown: TRIALS_SHOWN,
  drive: runStudy,
  choose: recommend,
});
