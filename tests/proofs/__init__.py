"""Findings on published releases, shown by running the published code: tiny models with random weights on a CPU."""
