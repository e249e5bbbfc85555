"""Files of tensors: what is not known is refused by name."""

import json
from pathlib import Path

import pytest

from carrysave.weights import tensor_files
from hw.emit.user_files import FileError


def test_tensors_of_unknown_kinds_are_refused(tmp_path: Path) -> None:
    """Nothing of a file is left out in silence."""
    header = json.dumps({"up": {"dtype": "F8_E8M0", "shape": [2], "data_offsets": [0, 2]}}).encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\x7f\x80")
    with pytest.raises(FileError, match=r"tensor 'up': must be of F64, F32, .*, not F8_E8M0"):
        tensor_files.read(path)
