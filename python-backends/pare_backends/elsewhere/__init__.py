"""Checkpoints that somebody else made of the same model: read in the forms in which they lie."""
