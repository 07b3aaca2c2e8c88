"""Which layer takes which format: what each costs in quality, and the best mix under a budget."""
