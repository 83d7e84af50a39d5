"""Documents in and out: preparing a corpus, reading a prepared one, counting its words."""
