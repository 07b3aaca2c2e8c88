"""One file a stage: what a worker is asked, and what it answers."""
