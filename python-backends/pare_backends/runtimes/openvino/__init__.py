"""Runtime `openvino`: an artifact's own weights in an exported graph, on the CPU."""

NAME = "openvino"
WRITES = "openvino"
