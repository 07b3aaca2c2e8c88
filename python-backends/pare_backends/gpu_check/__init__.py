"""Every path of the backends on a GPU, tried beside the same on the CPU:
`python -m pare_backends.gpu_check`. It needs PyTorch and transformers; what another package is
missing for is told as skipped."""
