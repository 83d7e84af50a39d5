"""An experiment as the workflow runs it: where its files lie, and what decides its jobs."""
