"""Gemma models whose layers take more than the text before them."""
