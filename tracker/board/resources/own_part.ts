import { kindOf } from "../../../core/mod.ts";
import { ownOf } from "../../show/kinds/own_of.ts";
import { partHtml } from "../../show/reports/render_html.ts";
import { viewStudy } from "../../show/view/view_study.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "./studies.ts";

/** What a study's page shows in place of trials, as its report does; null: trials. */
export async function readOwnPart(
  store: Store,
  { study_id, kind }: Row,
): Promise<string | null> {
  if (typeof kind !== "string" || kindOf({ kind }).shown.rows !== "own") return null;
  const view = await viewStudy(store, String(study_id));
  const blocks = ownOf(view.request).blocks(view).filter((one) =>
    !(one.block === "heading" && one.level === 1) // the page has a head
  );
  return partHtml(String(study_id), blocks);
}
