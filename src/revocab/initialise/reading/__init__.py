"""What an initialisation reads beside the source: vocabularies, a helper, vectors, a donor."""
