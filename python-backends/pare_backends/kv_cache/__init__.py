"""What a model remembers of the tokens it has read: policies that keep less than all of it."""
