"""Photinus as it is by default."""

from functools import partial

from photinus_bench.baselines.photinus_paper import time_photinus
from photinus_bench.pipe import serve

if __name__ == "__main__":
    serve(partial(time_photinus, algorithm="default"), packages=("photinus", "jax", "jaxlib"))
