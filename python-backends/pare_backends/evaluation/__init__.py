"""Quality of a model: lm-eval's tasks and perplexity, with one row per sample."""
