"""Runtime `vllm`: the written checkpoint on a GPU. Never run by its authors."""

NAME = "vllm"
