"""Distillation: a student learns the study's original, its teacher; one file per method, beside the
files that it is made of."""
