"""What methods compute rows with: maps, weighted sums, draws, searches for like tokens."""
