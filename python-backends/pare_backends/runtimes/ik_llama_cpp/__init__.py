"""Runtime `ik_llama.cpp`: a GGUF file in ik_llama.cpp, whose arithmetic of k-quants is its own."""

NAME = "ik_llama.cpp"
