"""One file per stage: what a worker is asked, and what it answers."""
