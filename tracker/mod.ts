/** The door for notebooks: `openLab` and what it gives. */
import { UsageError } from "../core/mod.ts";
import { tellUnknownNames } from "./show/notebook/cell_mistakes.ts";
import { type FigureOptions, figures, figureText } from "./show/plots/figures.ts";
import { kernelBroadcast } from "./ground/terminal/kernel.ts";

export { notebookAsk, silentAsk } from "./show/terminal/ask.ts";
export { type Lab, type LabOptions, openLab, type SqlValue } from "./session/lab.ts";
export type { AnswersToScore, StudyAnswersToScore, TrialScored } from "./session/score_study.ts";
export type { ServingPlan } from "../core/serving/plan/schema.ts";
export type { PlanAsked } from "./lab/serving/plan_model.ts";
export { planFigure } from "./show/plan/plan_figure.ts";
export type { SqlRows } from "./show/notebook/sql_rows.ts";
export type { StudySession } from "./session/study_session.ts";
export type { CachesOptions, MeasuredCaches } from "./session/study_caches.ts";
export type { Mixed, MixOptions } from "./session/study_mix.ts";
export type { LayerSensitivity, SensitivityOptions } from "./session/study_sensitivity.ts";
export type { LabStudyByHand } from "./session/study_by_hand.ts";
export type { ActionInput, GateDecision, Proposal, StudyResult, TrialByHand } from "../core/mod.ts";
export { showText } from "./show/notebook/show_text.ts";
export { writeReport } from "./session/write_report.ts";
export type { WriteReportOptions } from "./exchange/publish/write_report.ts";
export { writeStudiesReport } from "./show/report_of_studies.ts";
export type { StudyOutputs } from "./show/reports_of_study.ts";
export { type FigureOptions, figures, figureText };
export { show } from "./show/notebook/display.ts";
export { showFigure, type ShownFigure } from "./show/notebook/figure.ts";
export { liveCell } from "./show/notebook/live_cell.ts";
export { showPlot, showReport, showTable, type TableOptions } from "./show/notebook/show_study.ts";
export type { TrialCard } from "./show/notebook/cards.ts";
export type { Rows } from "./show/notebook/trial_tables.ts";
export type { ShownStudies, StudiesReportOptions } from "./show/notebook/show_studies.ts";
export type { PlotOptions } from "./show/reports_of_study.ts";
export type { TrialFigures } from "./show/view/trial_figures.ts";
export { readProfiles, weighView } from "./show/weight_profiles.ts";
export { readStages } from "./lab/read_document.ts";
export { handoffOfView, type StagedRow, stagedRows } from "./show/stages/staged_rows.ts";
export type { StudyView } from "./show/view/study_view.ts";
export type { TrialRow } from "./show/view/trial_rows.ts";
export type { NumberColumn, Run } from "./store/points/points.ts";
export type { Series, SeriesPoint } from "./store/points/series.ts";
export type { Comparison } from "./show/notebook/comparison.ts";
export type { EpisodeCard } from "./show/notebook/cards.ts";
export type { Displayed } from "./show/notebook/display.ts";
export type { RunStudyOptions, Strategy } from "./session/drive_study.ts";
export { UsageError };
export { openStore, type Store } from "./store/store.ts";

// A kernel prints the stack of what a cell throws: of a mistake it is the sentence alone.
if (kernelBroadcast() !== null) {
  UsageError.sentenceOnly = true;
  tellUnknownNames("figures", figures);
}
