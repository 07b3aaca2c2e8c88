"""How far a model is from the study's uncompressed one on text: the original's distributions are
kept once, and every trial's are held against them."""
