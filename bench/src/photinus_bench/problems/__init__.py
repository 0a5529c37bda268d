"""The functions of the benchmark, one family a file; `photinus_bench.tasks` finds them by name."""
