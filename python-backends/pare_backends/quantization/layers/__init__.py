"""Layers kept in every format: made once of the original's inputs, put together to any mix."""
