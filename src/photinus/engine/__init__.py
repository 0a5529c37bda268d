"""The optimiser: problems and trials in, suggestions out. Importing this package does not import JAX."""

ENGINE_VERSION = "1"
"""Changes whenever the same trials may lead to another suggestion; stored with every suggested trial."""
