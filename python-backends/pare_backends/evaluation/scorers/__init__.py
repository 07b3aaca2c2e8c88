"""One file per scorer: a frozen `Params`, and `score` of one answer or `score_all` of many."""
