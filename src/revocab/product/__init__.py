"""What practitioners call, one command at a time."""
