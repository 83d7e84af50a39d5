"""What llama.cpp computes, one file each: an ``ARCHITECTURE``."""
