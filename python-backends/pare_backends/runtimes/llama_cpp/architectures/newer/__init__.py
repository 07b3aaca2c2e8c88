"""Architectures that gguf-py, as the registry has it, does not name: the pinned llama.cpp does."""
