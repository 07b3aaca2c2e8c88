"""Fine-tuning: one file per method, each a frozen `Params` and `apply`."""
