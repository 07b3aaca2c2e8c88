"""From answers to scores: what every scorer is given, gives back, and what is made of it."""
