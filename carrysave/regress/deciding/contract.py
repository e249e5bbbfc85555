"""What a design's contract says of its inputs and outputs, as far as it is written here."""

from collections.abc import Mapping, Sequence
from typing import Any

from golden.engine import EngineSpec
from golden.npe.activation import ActivationSpec
from golden.npe.encoder import EncoderSpec
from golden.npe.group_scale import GroupScaleSpec
from golden.npe.lane import LaneSpec
from golden.npe.requantiser import RequantiserSpec
from golden.pe.mac import MacSpec
from golden.tpe.lut_core import LutCoreSpec
from golden.tpe.rows import SparseEngineSpec
from hw.catalog import Design

__all__ = ["beyond", "differences", "exact", "illegal", "longest", "unwritten"]


def unwritten(design: Design) -> str:
    """Return which part of its inputs' contract is not written here; empty if all of it is.

    An output that differs is a fault only if all that the inputs must keep to is known.
    """
    spec = design.spec
    if getattr(spec, "a_recoded", False):
        return "which digits A has that arrives recoded"
    if isinstance(spec, EngineSpec):
        if longest(design) is None:
            return f"that A comes again in each of {spec.passes} passes"
        external = isinstance(spec, LutCoreSpec) and spec.external
        masked = isinstance(spec, SparseEngineSpec) and spec.sparse is not None
        if not (spec.plain or external or masked):
            return "which keys B has"
        if spec.a_low != spec.a_format.low:
            return f"that A has no code below {spec.a_low}"
        if spec.k_max < spec.k and not spec.plain:
            return f"which codes of a beat are beyond K={spec.k_max}"
        return ""
    known = ActivationSpec, EncoderSpec, GroupScaleSpec, LaneSpec, MacSpec, RequantiserSpec
    return "" if isinstance(spec, known) else f"which inputs of {design.name} are legal"


def exact(design: Design) -> bool:
    """Whether the legal inputs that are written are all that there are: else some are missing."""
    spec = design.spec
    return not isinstance(spec, EngineSpec) or spec.k_max % spec.k == 0


def illegal(design: Design) -> list[str]:
    """Write Verilog of conditions of which none is met while the stream has an offer.

    Sums of an odd grid are even, once zero points are subtracted; formats are known ones; limits
    of codes are in order. See the docstrings of the specs.
    """
    spec = design.spec
    match spec:
        case EngineSpec() if spec.plain and spec.k_max < spec.k:
            width = spec.n * spec.b_code_width
            return [f"in_i_b_valid & (|in_i_b_data[{spec.k * width - 1}:{spec.k_max * width}])"]
        case LaneSpec():
            most = len(spec.names) - 1
            return [f"in_i_valid & (in_i_{one}_format > {most})" for one in "ab"]
        case GroupScaleSpec(zeros="odd"):
            return ["in_i_valid & (in_i_sum[0] ^ in_i_zero[0] & in_i_activations[0])"]
        case RequantiserSpec():
            return [f"in_i_config_valid & ({one})" for one in _limits(spec)]
    return []


def _limits(spec: RequantiserSpec) -> list[str]:
    """Write that limits are in the wrong order: `low`, and zero points with a ReLU, and `high`."""
    kind = "$signed" if spec.out_signed else ""
    high, width = f"{kind}(in_i_config_high)", spec.out_width
    zeros = [f"in_i_config_zero_point[{at * width} +: {width}]" for at in range(spec.scales)]
    return [
        f"{kind}(in_i_config_low) > {high}",
        *(f"in_i_config_relu & ({kind}({zero}) > {high})" for zero in zeros),
    ]


def longest(design: Design, *, full: bool = False) -> tuple[str, int] | None:
    """Return a stream, and how many beats it may have up to one with `last`; None if any.

    Engines of several passes are left out.

    Parameters
    ----------
    full : only beats whose codes are all of K; the codes of others must be 0 in part.
    """
    spec = design.spec
    if isinstance(spec, ActivationSpec):
        return "i", spec.length
    if isinstance(spec, EngineSpec) and spec.passes == 1:
        # Of a K below that of a beat, all codes beyond it are 0.
        whole = full and spec.k_max >= spec.k
        return "i_a", spec.k_max // spec.k if whole else -(-spec.k_max // spec.k)
    return None


def beyond(spec: EngineSpec) -> list[str]:
    """Write Verilog of conditions: a code of A beyond `k_max`, in the last beat, is not 0.

    Of tables from outside, the activations that they are made of.
    """
    last_codes = spec.k_max - spec.k * (-(-spec.k_max // spec.k) - 1)
    if isinstance(spec, LutCoreSpec) and spec.external:
        rows = range(0, spec.m * spec.k, spec.k)
        return [f"a{row + at} != 0" for row in rows for at in range(last_codes, spec.k)]
    if last_codes == spec.k or not spec.plain or getattr(spec, "a_recoded", False):
        return []
    width, row = spec.a_code_width, spec.k * spec.a_code_width
    return [
        f"|in_i_a_data[{(at + 1) * row - 1}:{at * row + last_codes * width}]"
        for at in range(spec.m)
    ]


def differences(ports: Sequence[Mapping[str, Any]], *, sums: bool) -> list[str]:
    """Write Verilog of conditions: an output of both differs, such as ``gold_o_data``.

    A payload counts only while it is valid: else it may be anything.

    Parameters
    ----------
    sums : of a ``sum`` with its ``carry``, only what they are together, modulo their width.
    """
    path = {port["is"]: port["name"] for port in ports if port["direction"] == "output"}
    terms = []
    for one, name in path.items():
        channel, payload, field = one.partition(".payload.")
        valid = path.get(f"{channel}.valid") if payload else None
        shown = f"gold_{valid} & " if valid else ""
        other = path.get(f"{channel}.payload.carry") if payload and field == "sum" else None
        if sums and field == "carry" and f"{channel}.payload.sum" in path:
            continue
        if sums and other:
            width = next(port["width"] for port in ports if port["name"] == name)
            gold, gate = (f"({copy}_{name} + {copy}_{other})" for copy in ("gold", "gate"))
            # What is subtracted in as many bits is 0 if both are the same modulo 2^width.
            terms.append(f"{shown}(|(({gold} - {gate}) & {{{width}{{1'b1}}}}))")
        else:
            terms.append(f"{shown}(gold_{name} != gate_{name})")
    return terms
