"""Proofs on diffusers, as installed."""
