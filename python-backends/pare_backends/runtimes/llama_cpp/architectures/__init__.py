"""What llama.cpp must be told of each architecture that a GGUF file is written of."""
