"""Low-rank factors that take back what compression changed in a layer's outputs."""
