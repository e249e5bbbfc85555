"""``carrysave pack``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.defaults import defaults
from carrysave.cli.options import Folder, Json, console, output_folder
from carrysave.errors import UsageError, check_choice
from carrysave.report import designs
from carrysave.weights import image

__all__ = ["pack"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PackFlags(image.PackRequest):
    """Flags of a packing; defaults are those of the request."""

    tensor: Annotated[
        str | None, Parameter(help="Name of the matrix, or of the layer. [default: the only one]")
    ]
    source: Annotated[
        str | None,
        Parameter(
            name="--from",
            help=f"Contents of the file: {', '.join(image.SOURCES)}. [default: auto]",
        ),
    ]
    rows: Annotated[
        str | None,
        Parameter(help="Rows are: out, as in PyTorch, or in. [default: out]"),
    ]
    scheme: Annotated[
        str | None,
        Parameter(
            help="Quantisation: symmetric, asymmetric, odd, ternary or, from floats,"
            " bcq. [default: symmetric]"
        ),
    ]
    bits: Annotated[
        int | None, Parameter(help="Bits per code. [default: 4 from floats; ternary 2]")
    ]
    group: Annotated[
        str | None,
        Parameter(help="From floats: inputs per scale, or column, or tensor. [default: 128]"),
    ]
    scales: Annotated[
        str | None,
        Parameter(help="Format of scales: fp16, bf16, fp32, e8m0, int8. [default: fp16]"),
    ]
    layout: Annotated[
        str | None,
        Parameter(help=f"Order of codes: {', '.join(image.LAYOUTS)}. [default: planes_inner]"),
    ]
    fold: Annotated[
        int | None,
        Parameter(help="Inputs per key, 2..5; 0 packs codes. [default: 4; trits 0, keys 5]"),
    ]
    beat: Annotated[
        int | None, Parameter(help="Inputs per beat. [default: up to 16, in whole keys]")
    ]
    columns: Annotated[int | None, Parameter(help="Outputs per block. [default: 64]")]
    codebook: Annotated[
        str | None,
        Parameter(
            help="Codes of a table, for a co-processor with a codebook: nf4, kmeans:4, kmeans:8,"
            " kmeans:16, mirrored:16."
        ),
    ]
    zeros: Annotated[
        bool | None,
        Parameter(
            negative="",
            help="Codes and zero points of blocks, for a co-processor whose engine has zeros.",
        ),
    ]
    sparse: Annotated[
        bool | None,
        Parameter(
            negative="",
            help="Bytes that are not 0, for a co-processor with sparse=true: AIE-ML's chunks.",
        ),
    ]
    prune: Annotated[
        str | None,
        Parameter(
            help="Leave N of each M along K, 1:4 or 2:4, for an engine with sparsity; with"
            " --sparse 4:8, too."
        ),
    ]
    depth: Annotated[int | None, Parameter(help="With --sparse: inputs per block. [default: all]")]


_FLAGS = defaults(PackFlags)


def pack(
    file: Annotated[
        Path, Parameter(help="Weights, .npy, .npz, .safetensors, .gguf; or a manifest.")
    ],
    /,
    *,
    request: PackFlags = _FLAGS,
    unpack: Annotated[
        bool, Parameter(show_default=False, help="Read a manifest and its image back.")
    ] = False,
    to: Annotated[
        str | None, Parameter(help="With --unpack: npz or safetensors. [default: npz]")
    ] = None,
    name: Annotated[
        str | None, Parameter(help="Name of the files. [default: the tensor's]")
    ] = None,
    output: Folder = None,
    json_: Json = False,
) -> int:
    """Pack a layer's low-bit weights into the memory image of the LUT cores, or read it back.

    Floats are quantised. GPTQ layers (2, 3, 4, 8 bits; gptq_v2 has no zero-point offset), AWQ
    layers (qweight, qzeros, scales, g_idx), or codes with scales and zeros, are used unchanged. A
    JSON manifest beside the image describes its sections. `--unpack` restores codes, scales and
    zero points from the image. Of a language model (.gguf: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0) all
    matrices are packed, unchanged, with an index; or one, with `--tensor`. With `--codebook`, of
    floats, `--zeros`, `--sparse` or `--prune`, rows of B of a co-processor are written, with their
    table or zero points, and scales.

    **Examples:**

    - `carrysave pack model.safetensors --tensor layers.0.up.weight --bits 2 --group 64`
    - `carrysave pack weights.npy --scheme ternary --group tensor --layout trits5`
    - `carrysave pack gptq.safetensors --tensor layers.0.up --from gptq -o build`
    - `carrysave pack model.gguf -o build/model`
    - `carrysave pack gptq.safetensors --tensor layers.0.up --zeros`
    - `carrysave pack model.safetensors --tensor layers.0.up.weight --prune 2:4 --sparse`
    - `carrysave pack --unpack build/weights.json`
    """
    folder = output_folder(output)
    if unpack:
        request.refuse("--unpack")
        to = to or "npz"
        check_choice("to", to, ("npz", "safetensors"))
        _unpack(file, folder, name, f".{to}", json_)
        return 0
    if to is not None:
        raise UsageError("--to needs --unpack")
    files, manifest = image.pack(file, request, folder, name)
    if json_:
        print(json.dumps({"files": [str(path) for path in files], **manifest}, indent=2))
    elif "codebook" in manifest:
        designs.print_codebook(console, files, manifest)
    elif "operand" in manifest:
        designs.print_operand(console, files, manifest)
    elif "sections" in manifest:
        designs.print_packing(console, files, manifest)
    else:
        designs.print_packed_model(console, files, manifest)
    return 0


def _unpack(file: Path, folder: Path, name: str | None, suffix: str, json_: bool) -> None:
    """Read an image back, and say what was written."""
    path, names = image.unpack(file, folder, name, suffix)
    if json_:
        print(json.dumps({"files": [str(path)], "tensors": names}, indent=2))
    else:
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
