"""Fitted models as files, without pickle: loading one never runs code from the file."""

from depmax.persistence.model_files import (
    ModelFile,
    ModelFileError,
    inspect,
    load_model,
    save_model,
)

__all__ = ["ModelFile", "ModelFileError", "inspect", "load_model", "save_model"]
