"""GGUF files as models: every tensor and every setting of them is taken, or named in a refusal."""
