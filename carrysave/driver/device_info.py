"""Discovery registers and performance counters."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from .blocking import Stores
from .errors import CoprocessorError
from .expander import PLAIN, ExpanderSpec
from .features import read_features, read_group_scales, read_rounding, read_scratch
from .mode import Mode, read_expander
from .number import FP32, Number
from .operations import DEPTHWISE, MAPS, PAIRS
from .registers import ABI, MAGIC, OPERATIONS

__all__ = ["Counters", "Info", "VectorInfo"]

_TILE = ("tile_m", "tile_n", "tile_k", "a_bits", "b_bits")
_STORES = (*_TILE, "data_width", "outstanding", "sums", "a_bytes", "b_bytes")


_SIZES = range(1, 1 << 24)
_LEGAL = {
    "tile_m": _SIZES,
    "tile_n": _SIZES,
    "tile_k": _SIZES,
    "a_bits": range(1, 129),
    "b_bits": range(1, 129),
    "c_bits": range(1, 129),
    "sum_bytes": range(1, 65),
    "data_width": range(8, 4097),
    "address_width": range(1, 65),
    "dimension_width": range(1, 33),
    "k_max": range(1, 1 << 32),
    "sums": range(1, 1 << 32),
    "a_bytes": range(1, 1 << 32),
    "b_bytes": range(1, 1 << 32),
    "outstanding": range(1, 1 << 16),
}
"""What fields can be; what one divides by, or counts up to, above all."""


@dataclass(frozen=True, kw_only=True)
class VectorInfo:
    """The discovery registers of a vector unit.

    Members
    -------
    operations : names of what it does with rows.
    length : most codes in a row; of two operands see :meth:`most`.
    width : bits of a code that it takes, two's complement, in 1 byte or, if they are more, in 2.
    out_width : bits of a code that it makes.
    signed : codes of a softmax leave a bit for a sign, which is 0.
    scale_width : a softmax takes codes in units of 2^-scale_width.
    norm_fraction : norms make codes in units of 2^-norm_fraction.
    lanes : codes that it takes at a time, if it has operations that requantise; else 0.
    """

    operations: tuple[str, ...]
    length: int
    width: int
    out_width: int
    signed: bool
    scale_width: int
    norm_fraction: int
    lanes: int = 0

    @classmethod
    def read(cls, field: Callable[[str], int]) -> "VectorInfo":
        """Read the registers, by names of fields; CoprocessorError as :meth:`Info.read`."""
        fields = {
            name: field(f"vector_format_{name}")
            for name in ("width", "out_width", "scale_width", "norm_fraction")
        }
        length = field("vector_length")
        for name, value, most in (
            ("width", fields["width"], 16),
            ("out_width", fields["out_width"], 16),
            ("length", length, 1 << 24),
        ):
            if not 1 <= value <= most:
                raise CoprocessorError(f"vector_{name} must be 1..{most}, not {value}")
        built = field("vector")
        return cls(
            operations=tuple(name for name, bit in OPERATIONS.items() if built >> bit - 1 & 1),
            length=length,
            signed=bool(field("vector_format_signed_codes")),
            lanes=field("vector_format_lanes"),
            **fields,
        )

    @property
    def a(self) -> tuple[Number, ...]:
        """Codes that it takes: in 1 byte, and in 2, if it takes any."""
        sizes = (8, 16) if self.width > 8 else (8,)
        return tuple(Number.of(bits, min(bits, self.width), True) for bits in sizes)

    @property
    def multiplier_bits(self) -> int:
        """Most bits of a requantisation's multiplier."""
        return self.out_width + 4

    def most(self, operation: str) -> int:
        """Return the most codes in a row; a transposition has none.

        Rows of two operands share one of the unit's two banks: their beats are at most the greatest
        power of two that is less than those of the longest row, or 1.
        """
        if operation == "transpose":
            return (1 << 31) - 1
        if operation not in PAIRS or not self.lanes:
            return self.length
        beats = -(-self.length // self.lanes)
        return min(self.lanes << max(beats - 1, 1).bit_length() - 1, self.length)

    def codes(self, operation: str, *, narrow: bool = False) -> Number:
        """Return the codes that an operation makes; `narrow` ones have a byte at most."""
        if operation == "transpose":
            return self.a[0]
        if operation in (*MAPS, DEPTHWISE):
            return Number.of(8, 8, True)
        positive = operation == "softmax"
        width = min(self.out_width, 8) if narrow else self.out_width
        bits = 8 if width <= 8 else 16
        return Number.of(bits, width - (positive and self.signed), not positive)


def _check_build(field: Callable[[str], int]) -> None:
    """Refuse another device, another register map, and numbers that no build has."""
    magic, abi = field("magic"), field("abi")
    if magic != MAGIC:
        raise CoprocessorError(f"no co-processor: MAGIC must be {MAGIC:#x}, not {magic:#x}")
    if abi != ABI:
        raise CoprocessorError(f"ABI must be {ABI}, as this driver's, not {abi}")

    for name, legal in _LEGAL.items():
        if field(name) not in legal:
            raise CoprocessorError(
                f"{name} must be {legal.start}..{legal.stop - 1}, not {field(name)}"
            )
    for name in ("a_bits", "b_bits", "data_width"):
        if field(name).bit_count() != 1:
            raise CoprocessorError(f"{name} must be a power of two, not {field(name)}")


@dataclass(frozen=True)
class Info:
    """The discovery registers of a co-processor.

    Members
    -------
    version : of the package that made it: major, minor, patch.
    engine, hash : number of the engine's kind, and hash of all parameters.
    k_max, address_width, dimension_width : largest K, and bits of an address, of M, N and K.
    a, b, sums, codes : numbers of A, of B, of C without and with requantisation; sums are float32
        if there are block scales.
    features : of ``requantiser``, ``per_column``, ``bias``, ``accumulate``, ``ring``, ``scales``,
        ``vector``, ``sizes`` (jobs choose the bytes of a code of C), ``scratch``, ``trits`` (five
        weights of B are in a byte), ``windows`` (A can be made of a map), ``taps`` (jobs on maps),
        ``table`` (looks codes up), ``sparse`` (B can be packed as bitmaps and what is not zero),
        ``lists`` (jobs read what lists say), ``group_scales`` (sums of groups of K are scaled),
        ``top_k`` (jobs find the greatest codes of rows),
        ``fast_array`` (the engine's clock is twice that of the bus);
        other than usual: ``fixed_blocks``, ``uncounted``, ``narrow``.
    scratch : bytes on chip, at the last addresses, that jobs alone read and write; 0: none.
    stores : tile and stores, which limit blocks.
    vector : the vector unit, if there is one.
    expander : of codes that B is of in memory, by what jobs have it: ``codebook``, ``trits``.
    group_scales : format of the scales of groups of K, ``fp16`` or ``bf16``; "": there are none.
    rounding : how sums are rounded to codes: ``single``, halves up; ``even``, halves to the even
        code, as onnxruntime does; ``double``, as TFLite; "" without ``requantiser``.
    """

    version: tuple[int, int, int]
    engine: int
    hash: int
    k_max: int
    address_width: int
    dimension_width: int
    a: Number
    b: Number
    sums: Number
    codes: Number
    features: frozenset[str]
    stores: Stores
    vector: VectorInfo | None = None
    scratch: int = 0
    rounding: str = ""
    expander: ExpanderSpec = PLAIN
    group_scales: str = ""

    @classmethod
    def read(cls, field: Callable[[str], int]) -> "Info":
        """Read the registers, by names of fields.

        Raises
        ------
        CoprocessorError
            It is another device or register map, or has numbers of no build: a broken link's.
        """
        _check_build(field)

        def number(name: str, bits: int) -> Number:
            width, signed = (field(f"numbers_{name}_{part}") for part in ("width", "signed"))
            if not 1 <= width <= bits:
                raise CoprocessorError(f"numbers_{name}_width must be 1..{bits}, not {width}")
            return Number.of(bits, width, bool(signed))

        expander = read_expander(field)
        # Where B is of codes, what is told of it is told of the numbers that they stand for.
        b_bits = expander.number_bits if expander.bits else field("b_bits")
        values = {name: field(name) for name in _STORES}
        clock = 1 + field("features_fast_array")
        stores = Stores(**values, b_deep=expander.deep, array_clock=clock)
        for name, held in (
            ("a_bytes", stores.a_words),
            ("b_bytes", stores.b_words),
            ("sums", stores.rows),
        ):
            if not held:
                raise CoprocessorError(f"{name} must be those of a tile or more, not {field(name)}")
        features = read_features(field)
        floats = "scales" in features and not field("numbers_sum_signed")
        return cls(
            version=(field("version_major"), field("version_minor"), field("version_patch")),
            engine=field("engine"),
            hash=field("hash_lo") | field("hash_hi") << 32,
            k_max=field("k_max"),
            address_width=field("address_width"),
            dimension_width=field("dimension_width"),
            a=number("a", field("a_bits")),
            b=number("b", b_bits),
            sums=FP32 if floats else number("sum", 8 * field("sum_bytes")),
            codes=number("c", field("c_bits")),
            features=features,
            stores=stores,
            vector=VectorInfo.read(field) if "vector" in features else None,
            scratch=read_scratch(field),
            rounding=read_rounding(field) if "requantiser" in features else "",
            expander=expander,
            group_scales=read_group_scales(field) if "group_scales" in features else "",
        )

    @property
    def memory_end(self) -> int:
        """First address behind memory: of what is on chip, or of none."""
        return (1 << self.address_width) - self.scratch

    @property
    def wide(self) -> Number:
        """Codes of C of two bytes, if jobs choose."""
        return Number.of(16, 16, self.codes.low < 0)

    @cached_property
    def peak(self) -> int:
        """Maximum products per cycle."""
        stores = self.stores
        return stores.tile_m * stores.tile_n * stores.tile_k * stores.array_clock

    @cached_property
    def mode(self) -> Mode:
        """The mode of an integer engine."""
        weights = replace(self.b, bits=2, low=-1, high=1) if "trits" in self.features else self.b
        return Mode(a=self.a, b=weights, k_max=self.k_max, expander=self.expander)

    def require(self, feature: str) -> None:
        """Refuse features that this build lacks."""
        if feature not in self.features:
            has = ", ".join(sorted(self.features)) or "none"
            raise ValueError(f"this co-processor is built without {feature}; it has {has}")


@dataclass(frozen=True)
class Counters:
    """Performance counters of a start.

    Members
    -------
    cycles : from start to done.
    compute, stall_load : cycles of its clock in which the engine took operands, waited for them.
    stall_store : cycles it stalled for space for C.
    read_beats, write_beats : beats of memory, not of what is on chip.
    macs : useful products, without padding.
    peak : the engine's maximum products per cycle.
    """

    cycles: int
    compute: int
    stall_load: int
    stall_store: int
    read_beats: int
    write_beats: int
    macs: int
    peak: int

    def __add__(self, other: "Counters") -> "Counters":
        """Add the counters of two starts on the same hardware."""
        values = {name: value + getattr(other, name) for name, value in vars(self).items()}
        return Counters(**{**values, "peak": self.peak})

    @property
    def utilisation(self) -> float:
        """Useful products divided by the engine's maximum in these cycles."""
        return self.macs / (self.cycles * self.peak) if self.cycles else 0.0
