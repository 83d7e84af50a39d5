"""What an experiment costs, from its file alone: operations, time, disk, memory, energy, CO2."""
