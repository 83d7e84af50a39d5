"""Weight files: read, checked and written tensor by tensor."""
