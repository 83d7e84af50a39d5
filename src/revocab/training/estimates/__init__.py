"""What a training will take, known before it runs: memory, time, the micro batch."""
