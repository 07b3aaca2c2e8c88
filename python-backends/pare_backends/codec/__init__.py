"""Codecs: one file a method, each a frozen `Params` and `apply`."""
