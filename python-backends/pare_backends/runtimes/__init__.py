"""What executes an artifact for a speed or memory figure: one folder per runtime."""
