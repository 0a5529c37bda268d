"""Acquisition functions, one formula a file: upper confidence bound, pure exploration, hypervolume, trust region."""
