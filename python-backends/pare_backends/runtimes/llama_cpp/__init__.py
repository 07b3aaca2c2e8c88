"""Runtime `llama.cpp`: an artifact's own integers as a GGUF file, on the CPU."""

NAME = "llama.cpp"
WRITES = "gguf"
"""What its form is a file of, which others load too."""
