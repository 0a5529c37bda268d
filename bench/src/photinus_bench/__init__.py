"""Benchmarks of Photinus beside its rivals.

This file imports nothing: rivals' environments load `photinus_bench.baselines` without having Photinus.
"""
