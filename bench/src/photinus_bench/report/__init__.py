"""The benchmark report: `docs/benchmarks.md`, its figures and one HTML page, from records alone.

`results.py` reads records into curves, `drawing.py` draws, `sections_*.py` have one function for every figure of the
paper and for those that the paper lacks, `writing.py` puts the pages together.
"""
