"""What a model keeps of the tokens it has read: the contract of cache policies and what runs it."""
