import type { OwnShown } from "../kinds/own_shown.ts";
import { PAGE_WIDTH, PHONE_WIDTH } from "../page_widths.ts";
import { qualityByRatio } from "../plots/figures/quality_by_ratio.ts";
import type { StudyView } from "../view/study_view.ts";
import { HANDOFF, HANDOFF_PAGE, handoffHtml } from "./handoff_page.ts";
import { stagedBlocks, type StagedFigure } from "./staged_blocks.ts";
import { handoffOfView, stagedRows } from "./staged_rows.ts";
import { endOfStages } from "./stages_end.ts";

const CURVE = "stages.svg";

/** The curve of a staged study; null: no stage was judged yet. */
function curveOf(view: StudyView): StagedFigure | null {
  const rows = stagedRows(view);
  if (rows.every(({ value, ratio }) => value === null || ratio === null)) return null;
  const drawn = (width: number) => qualityByRatio(rows, { width });
  return { svg: drawn(PAGE_WIDTH), narrow: drawn(PHONE_WIDTH), file: CURVE };
}

/** What a staged study shows beside others: its stages, their curve, and the handoff of what it ships. */
export const stagesShown: OwnShown = {
  blocks: (view) => stagedBlocks(view, curveOf(view)),
  files(view) {
    const handoff = handoffOfView(view);
    return {
      [HANDOFF]: handoff === null ? null : `${JSON.stringify(handoff, null, 2)}\n`,
      [HANDOFF_PAGE]: handoff === null ? null : handoffHtml(handoff),
      [CURVE]: curveOf(view)?.svg ?? null,
    };
  },
  ended: endOfStages,
};
