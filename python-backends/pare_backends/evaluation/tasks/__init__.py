"""What is asked: benchmarks, their documents, prompts, rules of reading and groups."""
