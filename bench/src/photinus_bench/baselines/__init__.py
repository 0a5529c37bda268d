"""Contestants. Each file but Photinus' runs in its rival's own environment and is imported nowhere else."""
