"""Runtime `openvino_genai`: an artifact's own weights under a cache that evicts, on the CPU."""

NAME = "openvino_genai"
