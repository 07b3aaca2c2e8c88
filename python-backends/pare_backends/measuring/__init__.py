"""How speed, bandwidth and energy are read, and what the readings say."""
