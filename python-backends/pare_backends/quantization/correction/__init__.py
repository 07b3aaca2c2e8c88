"""Weights corrected while they are rounded or after: by training, or by factors beside them."""
