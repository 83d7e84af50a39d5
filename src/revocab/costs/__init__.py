"""What work costs: operations of a token, then time, memory and disk; all else reads it here."""
