"""Static conformance checks for gradient-checkpointed PyTorch models."""

__version__ = "0.1.0"
