"""What a training writes, and when: loss tables, checkpoints, resume state, manifest."""
