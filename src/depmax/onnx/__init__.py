"""Fitted models as ONNX graphs."""

from depmax.onnx.export import to_onnx

__all__ = ["to_onnx"]
