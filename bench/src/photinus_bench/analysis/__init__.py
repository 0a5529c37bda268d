"""What the benchmarks measure: functions on arrays of curves, which know nothing of how records are stored.

A curve is the best value so far after each trial, in the units of the objective; a table of curves has a row per
repeat and a column per trial. The definitions here are settled: results are compared by them over the years, so a
change of one is a new measure under a new name.
"""
