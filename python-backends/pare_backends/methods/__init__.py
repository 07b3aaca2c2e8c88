"""What every method works with, whatever its family."""
