"""Static conformance checks for gradient-checkpointed PyTorch models."""

from conformance.layout import package_path

__version__ = "0.1.0"

__path__ = package_path()
