"""What llama.cpp computes, one file per family: an ``ARCHITECTURE``, or several."""
