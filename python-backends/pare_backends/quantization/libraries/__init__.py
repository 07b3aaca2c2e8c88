"""What stands around libraries that round: their progress, garbage, zeros, experts and integers."""
