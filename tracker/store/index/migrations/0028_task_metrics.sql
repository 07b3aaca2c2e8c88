-- Tasks report accuracy, F1, exact match and others; the study's figure is a mean over them.
ALTER TABLE study_tasks ADD COLUMN metric VARCHAR;
COMMENT ON COLUMN study_tasks.metric IS
  'what the task reports, such as accuracy, f1 or perplexity; NULL of a missing task and in old records';
