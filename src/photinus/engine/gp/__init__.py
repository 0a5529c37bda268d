"""The Gaussian process: kernel, priors, fit by maximum a posteriori, exact posterior."""
