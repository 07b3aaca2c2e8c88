"""Scales moved from a layer's inputs to its weights, so that the model computes the same."""
