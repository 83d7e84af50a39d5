"""What surrounds a run of Snakemake: how it starts, who holds its lock, how far it has come."""
