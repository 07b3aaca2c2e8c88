"""RULER's tasks (Hsieh et al. 2024), made here: any length, counted in the model's tokens."""
