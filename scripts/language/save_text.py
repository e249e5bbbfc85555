"""Files of small language models of characters, as :mod:`carrysave.compiler.front.text` reads."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache
from carrysave.compiler.front.text import KIND, check_header

__all__ = ["save_text"]


def save_text(path: Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model, at once.

    Parameters
    ----------
    path : .npz.
    header : ``form`` of :data:`carrysave.compiler.front.gguf.FORMS`, ``format`` of :data:`FORMATS`,
        ``layers``, ``width``, ``hidden``, ``heads``, ``context`` (tokens), ``cache_bits`` and
        ``characters``.
    arrays : ``embedding``, characters x width; gains by name, see :func:`.gains_of`; of each
        matrix, see :func:`.matrices_of`, ``NAME.codes``, K x N, from 0 on, and ``NAME.scales``,
        groups x N.

    Raises
    ------
    ValueError
        It is not a supported model header.
    """
    whole = {"kind": KIND, **header}
    check_header(whole)
    kinds = {"codes": np.uint8, "scales": np.float16}
    stored: dict[str, Any] = {
        name: array.astype(kinds.get(name.rpartition(".")[2], np.float32))
        for name, array in arrays.items()
    }
    stored["header"] = np.frombuffer(json.dumps(whole).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **stored)
    cache.write(path, buffer.getvalue())
