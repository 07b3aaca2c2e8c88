/** The door for notebooks: `openLab` and what it gives. */
export { notebookAsk, silentAsk } from "./terminal/ask.ts";
export { type Lab, type LabOptions, openLab, type SqlValue } from "./lab.ts";
export type { SqlRows } from "./sql_rows.ts";
export type { RunStudyOptions, StudySession } from "./study_session.ts";
export type { LayerSensitivity, SensitivityOptions } from "./sensitivity/study_sensitivity.ts";
export type { LabStudyByHand } from "./study_by_hand.ts";
export type { ActionInput, GateDecision, Proposal, StudyResult, TrialByHand } from "../core/mod.ts";
export { liveCell, showPlot, showReport, showTable } from "./notebook.ts";
export { showText } from "./jupyter/show_text.ts";
export { type StudyOutputs, writeOutputs } from "./reports_of_study.ts";
export { type FigureOptions, figures, figureText } from "./plots/figures.ts";
export { readProfiles, weighView } from "./search/weight_profiles.ts";
export type { StudyView } from "./view/study_view.ts";
export type { TrialRow } from "./view/trial_rows.ts";
export type { NumberColumn, Run } from "./store/points/points.ts";
export type { Series, SeriesPoint } from "./store/points/series.ts";
export { openStore, type Store } from "./store/store.ts";
