"""Model folders: fetching, building stand-ins, reading and rewriting their tensors."""
