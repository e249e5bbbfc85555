"""The one list of designs, in the order in which an operand meets them."""

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import golden.npe.aligned_dot
import golden.npe.aligner
import golden.npe.block_scale
import golden.npe.encoder
import golden.npe.float_lut
import golden.npe.float_mac
import golden.npe.group_scale
import golden.npe.npe
import golden.npe.requantiser
import golden.npe.shift_gelu
import golden.npe.shiftmax
import golden.npe.sl8
import golden.npe.sl16
import golden.pe.laconic
import golden.pe.lmul
import golden.pe.mac
import golden.pe.opt1
import golden.pe.opt2
import golden.pe.opt3
import golden.pe.opt4c
import golden.pe.opt4e
import golden.soc.coprocessor
import golden.soc.coprocessor_stream
import golden.soc.coprocessor_uart
import golden.tpe.adder_tree
import golden.tpe.bitserial_core
import golden.tpe.cube
import golden.tpe.digit_column
import golden.tpe.lut_core
import golden.tpe.lut_tables
import golden.tpe.lut_unit
import golden.tpe.matrix_2d
import golden.tpe.over_weights
import golden.tpe.shift_add_core
import golden.tpe.systolic_os
import golden.tpe.systolic_ws
import golden.tpe.ternary_core
from golden.check import Parameter, parameters_of
from golden.engine import EngineSpec
from hw.npe.aligned_dot import AlignedDot
from hw.npe.aligner import Aligner
from hw.npe.block_scale import BlockScale
from hw.npe.encoder import Encoder
from hw.npe.float_lut import FloatLut
from hw.npe.float_mac import FloatMac
from hw.npe.group_scale import GroupScale
from hw.npe.npe import Npe
from hw.npe.requantiser import Requantiser
from hw.npe.shift_gelu import ShiftGelu
from hw.npe.shiftmax import Shiftmax
from hw.npe.sl8 import Sl8
from hw.npe.sl16 import Sl16
from hw.pe.laconic import Laconic
from hw.pe.lmul import Lmul
from hw.pe.mac import Mac
from hw.pe.opt1 import Opt1
from hw.pe.opt2 import Opt2
from hw.pe.opt3 import Opt3
from hw.pe.opt4c import Opt4c
from hw.pe.opt4e import Opt4e
from hw.soc.coprocessor import Coprocessor
from hw.soc.coprocessor_stream import CoprocessorStream
from hw.soc.coprocessor_uart import CoprocessorUart
from hw.tpe.adder_tree import AdderTree
from hw.tpe.bitserial_core import BitserialCore
from hw.tpe.cube import Cube
from hw.tpe.digit_column import DigitColumn
from hw.tpe.lut_core import LutCore
from hw.tpe.lut_tables import LutTables
from hw.tpe.lut_unit import LutUnit
from hw.tpe.matrix_2d import Matrix2d
from hw.tpe.over_weights import OverWeights
from hw.tpe.shift_add_core import ShiftAddCore
from hw.tpe.systolic_os import SystolicOs
from hw.tpe.systolic_ws import SystolicWs
from hw.tpe.ternary_core import TernaryCore

__all__ = ["CATALOG", "Design", "Entry", "nearest"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One generator: its hardware, what it computes, and what proves that."""

    component: Any  # a wiring.Component class with HOWS, latency and operations_per_cycle
    spec: type
    golden: ModuleType
    bench: str
    summary: str
    evidence: tuple[str, ...]
    engine: "EngineText | None" = None  # of what holds one; the spec's and the component's `engine`

    @property
    def hows(self) -> dict[str, Parameter]:
        """Parameters of how it is built; they change no result."""
        hows: dict[str, Parameter] = self.component.HOWS
        return hows

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Every parameter: of what is computed first, of how it is built last."""
        engine = {} if self.engine is None else {"engine": self.engine}
        return {**engine, **parameters_of(self.spec), **self.hows}


@dataclass(frozen=True)
class EngineText(Parameter):
    """An engine of the catalogue with its parameters, as in ``systolic_os(m=4,n=4)``."""

    @property
    def legal(self) -> str:
        """The engines."""
        names = [name for name, entry in CATALOG.items() if issubclass(entry.spec, _ENGINES)]
        return f"one of {', '.join(names)}, with parameters as in {names[0]}(m=4,n=4)"

    def check(self, name: str, value: Any) -> Any:
        """Refuse what is no text of an engine."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        self.design(name, value)
        return value

    def parse(self, name: str, text: str) -> str:
        """Read an engine; what has its default is left out."""
        return self.text(self.design(name, text))

    def design(self, name: str, text: str) -> "Design":
        """Make the engine that a text describes."""
        found = re.fullmatch(r"(\w+)(?:\((.*)\))?", text)
        if found is None or found[1] not in CATALOG:
            raise self.refuse(name, text)
        # Of some parameters the value has commas too.
        parts = re.split(r",(?=\s*\w+=)", found[2] or "")
        pairs = [part.partition("=") for part in parts if part]
        if not all(equals for _, equals, _ in pairs):
            raise self.refuse(name, text)
        if not issubclass(CATALOG[found[1]].spec, _ENGINES):
            raise self.refuse(name, text)
        design = Design.parse(found[1], {key.strip(): value for key, _, value in pairs})
        if isinstance(design.spec, EngineSpec) and not design.spec.plain:
            raise ValueError(f"{name} must take codes as they are, not {text!r}")
        return design

    @staticmethod
    def text(design: "Design") -> str:
        """Describe an engine by what differs from its defaults."""
        kinds = design.entry.parameters
        parts = [f"{key}={value}" for key, value in design.parameters.items()
                 if value != kinds[key].default]  # fmt: skip
        return f"{design.name}({','.join(parts)})" if parts else design.name


_ENGINES = (EngineSpec, golden.npe.npe.NpeSpec)
"""Specs of what a co-processor can hold."""

_LONGEST = 120
"""Characters of a module's name; Verilator replaces what is longer than 127."""

_PE_EVIDENCE = (
    "cocotb against numpy: all operand pairs up to 8 x 8 bits, stalls, resets, extremes",
    "formal proof of the step",
    "mutants",
    "netlist simulation",
)

_ENGINE_EVIDENCE = (
    "cocotb against numpy: all shapes, stalls, resets, extremes, exact cycle count",
    "netlist simulation",
)

_FLOAT_EVIDENCE = (
    "cocotb against numpy: all pairs up to 8 x 8 bits, specials, subnormals, cancellation, stalls,"
    " resets",
    "formal proof of addition and rounding in small formats",
    "netlist simulation",
)

_ACTIVATION_EVIDENCE = (
    "cocotb against numpy: all values, rows of all lengths, stalls, resets, exact cycle count",
    "formal proof of exponential and division",
    "mutants",
    "netlist simulation",
)

CATALOG = {
    "mac": Entry(
        component=Mac,
        spec=golden.pe.mac.MacSpec,
        golden=golden.pe.mac,
        bench="verif.pe.benches.tb_mac",
        summary="plain multiply-accumulate: one carry-propagate addition a cycle",
        evidence=_PE_EVIDENCE,
    ),
    "opt1": Entry(
        component=Opt1,
        spec=golden.pe.mac.MacSpec,
        golden=golden.pe.opt1,
        bench="verif.pe.benches.tb_mac",
        summary="multiply-accumulate in carry-save form (OPT1): no carry propagation",
        evidence=_PE_EVIDENCE,
    ),
    "opt2": Entry(
        component=Opt2,
        spec=golden.pe.opt2.Opt2Spec,
        golden=golden.pe.opt2,
        bench="verif.pe.benches.tb_mac",
        summary="k products a cycle, digits of one weight added up first (OPT2): one shift at last",
        evidence=_PE_EVIDENCE,
    ),
    "laconic": Entry(
        component=Laconic,
        spec=golden.pe.laconic.LaconicSpec,
        golden=golden.pe.laconic,
        bench="verif.pe.benches.tb_mac",
        summary="bit-slice lanes (Laconic): one product of signed powers of two a cycle and lane",
        evidence=(
            "cocotb against numpy: all operand pairs up to 8 x 8 bits, stalls, resets, extremes,"
            " exact cycle count",
            "formal proof of lane and reduction",
            "mutants",
            "netlist simulation",
        ),
    ),
    "opt3": Entry(
        component=Opt3,
        spec=golden.pe.opt3.Opt3Spec,
        golden=golden.pe.opt3,
        bench="verif.pe.benches.tb_mac",
        summary="digit-serial multiply-accumulate that skips zero digits (OPT3)",
        evidence=_PE_EVIDENCE,
    ),
    "opt4c": Entry(
        component=Opt4c,
        spec=golden.pe.opt4c.Opt4cSpec,
        golden=golden.pe.opt4c,
        bench="verif.pe.benches.tb_mac",
        summary="the same with digits selected outside, for a column of elements (OPT4C)",
        evidence=_PE_EVIDENCE,
    ),
    "opt4e": Entry(
        component=Opt4e,
        spec=golden.pe.opt4e.Opt4eSpec,
        golden=golden.pe.opt4e,
        bench="verif.pe.benches.tb_mac",
        summary="the same with four lanes of digits and one accumulator (OPT4E)",
        evidence=_PE_EVIDENCE,
    ),
    "lmul": Entry(
        component=Lmul,
        spec=golden.pe.lmul.LmulSpec,
        golden=golden.pe.lmul,
        bench="verif.pe.benches.tb_lmul",
        summary="L-Mul: products of floats by adding codes; exact ones of FP8 by a carry",
        evidence=(
            "cocotb against numpy: all pairs of formats up to 8 bits, corners, stalls, resets",
            "netlist simulation",
        ),
    ),
    "systolic_os": Entry(
        component=SystolicOs,
        spec=golden.tpe.systolic_os.SystolicOsSpec,
        golden=golden.tpe.systolic_os,
        bench="verif.tpe.benches.tb_engine",
        summary="output-stationary systolic array of either PE, one resolver a column",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "systolic_ws": Entry(
        component=SystolicWs,
        spec=golden.tpe.systolic_ws.SystolicWsSpec,
        golden=golden.tpe.systolic_ws,
        bench="verif.tpe.benches.tb_engine",
        summary="weight-stationary systolic array of either PE, whose sums go round for all of K",
        evidence=(*_ENGINE_EVIDENCE, "formal proof of the step", "mutants"),
    ),
    "cube": Entry(
        component=Cube,
        spec=golden.tpe.cube.CubeSpec,
        golden=golden.tpe.cube,
        bench="verif.tpe.benches.tb_engine",
        summary="3D cube: m x n elements that add up k products each cycle",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "adder_tree": Entry(
        component=AdderTree,
        spec=golden.tpe.adder_tree.AdderTreeSpec,
        golden=golden.tpe.adder_tree,
        bench="verif.tpe.benches.tb_engine",
        summary="multiplier-adder trees: k products into each of n trees",
        evidence=_ENGINE_EVIDENCE,
    ),
    "matrix_2d": Entry(
        component=Matrix2d,
        spec=golden.tpe.matrix_2d.Matrix2dSpec,
        golden=golden.tpe.matrix_2d,
        bench="verif.tpe.benches.tb_engine",
        summary="2D matrix: operands broadcast to elements that accumulate locally",
        evidence=_ENGINE_EVIDENCE,
    ),
    "digit_column": Entry(
        component=DigitColumn,
        spec=golden.tpe.digit_column.DigitColumnSpec,
        golden=golden.tpe.digit_column,
        bench="verif.tpe.benches.tb_engine",
        summary="digit-serial columns: digits of A selected once, zero digits skipped",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "lut_tables": Entry(
        component=LutTables,
        spec=golden.tpe.lut_tables.LutTablesSpec,
        golden=golden.tpe.lut_tables,
        bench="verif.tpe.benches.tb_lut_tables",
        summary="generator of tables over activations, for LUT cores that take them ready-made",
        evidence=(
            "cocotb against numpy: all groups of activations of up to 16 bits, stalls, resets",
            "mutants",
            "netlist simulation",
        ),
    ),
    "lut_core": Entry(
        component=LutCore,
        spec=golden.tpe.lut_core.LutCoreSpec,
        golden=golden.tpe.lut_core,
        bench="verif.tpe.benches.tb_engine",
        summary="LUT tensor core: bit planes of low-bit weights look up sums of activations",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "lut_unit": Entry(
        component=LutUnit,
        spec=golden.tpe.lut_unit.LutUnitSpec,
        golden=golden.tpe.lut_unit,
        bench="verif.tpe.benches.tb_lut_unit",
        summary="LUT unit: LPRE and LMMA, as a stream of descriptors into a LUT core",
        evidence=(
            "cocotb against numpy: programs of all formats and extremes, stalls, refusals, resets,"
            " exact cycle count",
            "mutants",
            "netlist simulation",
        ),
    ),
    "bitserial_core": Entry(
        component=BitserialCore,
        spec=golden.tpe.bitserial_core.BitserialCoreSpec,
        golden=golden.tpe.bitserial_core,
        bench="verif.tpe.benches.tb_engine",
        summary="bit-serial core: bit planes of low-bit weights gate activations",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "shift_add_core": Entry(
        component=ShiftAddCore,
        spec=golden.tpe.shift_add_core.ShiftAddCoreSpec,
        golden=golden.tpe.shift_add_core,
        bench="verif.tpe.benches.tb_engine",
        summary="shift-add core: gated, shifted activations, all bits of a weight in a cycle",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "ternary_core": Entry(
        component=TernaryCore,
        spec=golden.tpe.ternary_core.TernaryCoreSpec,
        golden=golden.tpe.ternary_core,
        bench="verif.tpe.benches.tb_engine",
        summary="ternary core: activations, or sums from tables, added, subtracted or left out",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "over_weights": Entry(
        component=OverWeights,
        spec=golden.tpe.over_weights.OverWeightsEngineSpec,
        golden=golden.tpe.over_weights,
        bench="verif.tpe.benches.tb_engine",
        summary="tables over weights (SAIL): bit planes of many rows of activations look up sums",
        evidence=(*_ENGINE_EVIDENCE, "mutants"),
    ),
    "sl8": Entry(
        component=Sl8,
        spec=golden.npe.sl8.Sl8Spec,
        golden=golden.npe.sl8,
        bench="verif.npe.benches.tb_lane",
        summary="lane of integers, minifloats and posits of up to 8 bits, exact sums",
        evidence=(
            "cocotb against numpy: all operand pairs, mixed formats, stalls, resets, extremes",
            "formal proof of decoders and step",
            "mutants",
            "netlist simulation",
        ),
    ),
    "sl16": Entry(
        component=Sl16,
        spec=golden.npe.sl16.Sl16Spec,
        golden=golden.npe.sl16,
        bench="verif.npe.benches.tb_lane",
        summary="lane of two 8-bit halves, which 16-bit integers and posits use together",
        evidence=(
            "cocotb against numpy: all pairs of 8-bit codes, 16-bit corners and random, mixed"
            " formats, stalls, resets, extremes, exact cycle count",
            "formal proof of 8-bit decoders, all 16-bit codes simulated",
            "netlist simulation",
        ),
    ),
    "npe": Entry(
        component=Npe,
        spec=golden.npe.npe.NpeSpec,
        golden=golden.npe.npe,
        bench="verif.npe.benches.tb_npe",
        summary="output-stationary array of SL8 or SL16 lanes: formats of each tile, scales",
        evidence=(
            "cocotb against numpy: all pairs of formats, mixed tiles, stalls, resets, flags,"
            " extremes, exact cycle count",
            "netlist simulation",
            "mutants",
        ),
    ),
    "aligner": Entry(
        component=Aligner,
        spec=golden.npe.aligner.AlignerSpec,
        golden=golden.npe.aligner,
        bench="verif.npe.benches.tb_aligner",
        summary="blocks of floats to integers with a shared exponent, for engines of integers",
        evidence=(
            "cocotb against numpy: all codes up to 8 bits, subnormals, specials, rows of all"
            " lengths, stalls, resets",
            "mutants",
            "netlist simulation",
        ),
    ),
    "requantiser": Entry(
        component=Requantiser,
        spec=golden.npe.requantiser.RequantiserSpec,
        golden=golden.npe.requantiser,
        bench="verif.npe.benches.tb_requantiser",
        summary="integer sums to codes by dyadic scales: gemmlowp's or HAWQ's rounding, ReLU",
        evidence=(
            "cocotb against numpy: every shift, ties, corners, stalls, resets",
            "formal proof of rounding",
            "mutants",
            "netlist simulation",
        ),
    ),
    "shiftmax": Entry(
        component=Shiftmax,
        spec=golden.npe.shiftmax.ShiftmaxSpec,
        golden=golden.npe.shiftmax,
        bench="verif.npe.benches.tb_shift",
        summary="integer softmax of rows (I-ViT): shifts and one division a row",
        evidence=_ACTIVATION_EVIDENCE,
    ),
    "shift_gelu": Entry(
        component=ShiftGelu,
        spec=golden.npe.shift_gelu.ShiftGeluSpec,
        golden=golden.npe.shift_gelu,
        bench="verif.npe.benches.tb_shift",
        summary="integer GELU of rows (I-ViT): shifts and one serial division a value",
        evidence=_ACTIVATION_EVIDENCE,
    ),
    "encoder": Entry(
        component=Encoder,
        spec=golden.npe.encoder.EncoderSpec,
        golden=golden.npe.encoder,
        bench="verif.npe.benches.tb_encoder",
        summary="exact sums to codes of any minifloat, posit or integer format, rounded once",
        evidence=(
            "cocotb against numpy: all sums up to 16 bits, ties and neighbours, stalls, resets",
            "formal proof of 8-bit and smaller formats",
            "mutants",
            "netlist simulation",
        ),
    ),
    "float_mac": Entry(
        component=FloatMac,
        spec=golden.npe.float_mac.FloatMacSpec,
        golden=golden.npe.float_mac,
        bench="verif.npe.benches.tb_float",
        summary="fused multiply-add of bf16, fp16, FP8 and other floats into fp32",
        evidence=_FLOAT_EVIDENCE,
    ),
    "float_lut": Entry(
        component=FloatLut,
        spec=golden.npe.float_lut.FloatLutSpec,
        golden=golden.npe.float_lut,
        bench="verif.npe.benches.tb_float",
        summary="tables of fp16 and other floats, of which all entries and sums are rounded",
        evidence=(_FLOAT_EVIDENCE[0], "mutants", "netlist simulation"),
    ),
    "block_scale": Entry(
        component=BlockScale,
        spec=golden.npe.block_scale.BlockScaleSpec,
        golden=golden.npe.block_scale,
        bench="verif.npe.benches.tb_float",
        summary="block sums scaled and added up: MX scales in fp32, NVFP4 scales exactly",
        evidence=_FLOAT_EVIDENCE,
    ),
    "group_scale": Entry(
        component=GroupScale,
        spec=golden.npe.group_scale.GroupScaleSpec,
        golden=golden.npe.group_scale,
        bench="verif.npe.benches.tb_float",
        summary="sums of groups of weights, less zero points, scaled and added up",
        evidence=(*_FLOAT_EVIDENCE, "mutants"),
    ),
    "aligned_dot": Entry(
        component=AlignedDot,
        spec=golden.npe.aligned_dot.AlignedDotSpec,
        golden=golden.npe.aligned_dot,
        bench="verif.npe.benches.tb_float",
        summary="groups of products aligned to the greatest exponent and cut, as GPUs do",
        evidence=_FLOAT_EVIDENCE,
    ),
    "coprocessor": Entry(
        component=Coprocessor,
        spec=golden.soc.coprocessor.CoprocessorSpec,
        golden=golden.soc.coprocessor,
        bench="verif.soc.benches.tb_coprocessor",
        summary="matmul co-processor on AXI around any engine: matrices in memory, of any size",
        evidence=(
            "cocotb against numpy: random jobs, every byte of memory; stalls, errors of memory,"
            " resets, illegal jobs, exact refusals",
            "formal proof of the AXI handshakes, of bursts and of the register slave",
        ),
        engine=EngineText("engine, and what it is built of", "systolic_os"),
    ),
    "coprocessor_stream": Entry(
        component=CoprocessorStream,
        spec=golden.soc.coprocessor_stream.CoprocessorStreamSpec,
        golden=golden.soc.coprocessor_stream,
        bench="verif.soc.benches.tb_coprocessor_stream",
        summary="matmul co-processor around any engine, between AXI4-Streams of A, of B and of C",
        evidence=("cocotb against numpy: random jobs, every beat; stalls, resets, illegal jobs",),
        engine=EngineText("engine, and what it is built of", "systolic_os"),
    ),
    "coprocessor_uart": Entry(
        component=CoprocessorUart,
        spec=golden.soc.coprocessor_uart.CoprocessorUartSpec,
        golden=golden.soc.coprocessor_uart,
        bench="verif.soc.benches.tb_coprocessor_uart",
        summary="the same with memory of its own behind a serial line, for a board",
        evidence=("cocotb against numpy: the host's driver, through the pins of the line",),
        engine=EngineText("engine, and what it is built of", "systolic_os"),
    ),
}


def nearest(name: str, known: Mapping[str, object], what: str) -> ValueError:
    """Make the error for an unknown name, with the names that are close to it."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
    return ValueError(f"unknown {what} {name!r}; {hint}")


def _with(kind: EngineText, own: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Describe the engine of a design with the parameters that are not the design's own."""
    engine = kind.design("engine", own.get("engine", kind.default))
    kinds = engine.entry.parameters
    more = {key: text for key, text in texts.items() if key not in own}
    for key in more:
        if key not in kinds:
            raise nearest(key, kinds, f"parameter of {engine.name}")
    given = {key: kinds[key].parse(key, text) for key, text in more.items()}
    return kind.text(Design(engine.name, {**engine.parameters, **given}))


@dataclass(frozen=True)
class Design:
    """One entry of the catalogue with all its parameters.

    Parameters
    ----------
    name : of the entry.
    parameters : values that differ from the defaults; complete after construction.

    Raises
    ------
    ValueError
        Unknown name or parameter, value out of range.
    TypeError
        Value of the wrong kind.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check all names and values, and fill in the defaults."""
        if self.name not in CATALOG:
            raise nearest(self.name, CATALOG, "design")
        kinds = self.entry.parameters
        for name, value in self.parameters.items():
            if name not in kinds:
                raise nearest(name, kinds, f"parameter of {self.name}")
            kinds[name].check(name, value)
        complete = {name: self.parameters.get(name, kind.default) for name, kind in kinds.items()}
        object.__setattr__(self, "parameters", complete)
        self.spec  # noqa: B018  (a spec may refuse a combination)

    @classmethod
    def parse(cls, name: str, texts: Mapping[str, str]) -> "Design":
        """Make a design from parameters as text."""
        if name not in CATALOG:
            raise nearest(name, CATALOG, "design")
        kinds = CATALOG[name].parameters
        own = {key: text for key, text in texts.items() if key in kinds}
        engine = CATALOG[name].engine
        if len(own) < len(texts) and engine is not None:
            own["engine"] = _with(engine, own, texts)
            texts = own
        for key in texts:
            if key not in kinds:
                raise nearest(key, kinds, f"parameter of {name}")
        return cls(name, {key: kinds[key].parse(key, text) for key, text in texts.items()})

    @property
    def entry(self) -> Entry:
        """The entry of the catalogue."""
        return CATALOG[self.name]

    @property
    def engine(self) -> "Design | None":
        """The engine inside, if it holds one."""
        kind = self.entry.engine
        return kind.design("engine", self.parameters["engine"]) if kind is not None else None

    @property
    def spec(self) -> Any:
        """What is computed."""
        names = parameters_of(self.entry.spec)
        inside = {} if self.engine is None else {"engine": self.engine.spec}
        return self.entry.spec(**{name: self.parameters[name] for name in names}, **inside)

    @property
    def module(self) -> str:
        """Name of the Verilog module: the entry's and the parameters that differ from defaults.

        Where that is longer than simulators keep, a digest of the parameters takes their place.
        """
        name = self.name
        for key, kind in self.entry.parameters.items():
            value = self.parameters[key]
            if value != kind.default:
                text = re.sub(r"[^\w]+", "_", str(value)).strip("_")
                number = str(int(value)).replace("-", "m") if not isinstance(value, str) else ""
                name += f"_{key}_{text}" if isinstance(value, str) else f"_{key}{number}"
        if len(name) > _LONGEST:
            name = f"{self.name}_{hashlib.sha256(self.key.encode()).hexdigest()[:16]}"
        return name

    @property
    def key(self) -> str:
        """Canonical JSON of name and parameters."""
        return json.dumps(
            {"design": self.name, **self.parameters}, sort_keys=True, separators=(",", ":")
        )

    def component(self) -> Any:
        """Build the component."""
        hows = self._hows
        if self.engine is not None:
            inside = self.engine.entry.component(self.spec.inside.spec, **self.engine._hows)
            hows |= {
                "engine": inside,
                "number": list(CATALOG).index(self.engine.name),
                "digest": int(hashlib.sha256(self.key.encode()).hexdigest()[:16], 16),
            }
        return self.entry.component(self.spec, **hows)

    @property
    def _hows(self) -> dict[str, Any]:
        """Values of the parameters of how it is built."""
        return {name: self.parameters[name] for name in self.entry.hows}

    def __hash__(self) -> int:
        """Hash the canonical JSON."""
        return hash(self.key)
