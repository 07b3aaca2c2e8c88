"""A model in memory: log-likelihoods and generations in packed rows."""
