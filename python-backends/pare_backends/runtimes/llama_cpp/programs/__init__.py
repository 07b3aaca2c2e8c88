"""Programs of llama.cpp's environment, which other processes start: a job in JSON, files out."""
