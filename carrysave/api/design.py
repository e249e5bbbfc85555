"""The public design: an entry of the catalogue with its parameters, and what one does with it."""

from collections.abc import Callable
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from carrysave.api.call import public
from carrysave.api.explicit_design import ExplicitDesign
from carrysave.api.options import VerifyOptions
from carrysave.keywords import by_name
from carrysave.progress import Steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from carrysave.api.files import Files
    from carrysave.api.simulation import FormatProduct
    from carrysave.api.synthesis import Synthesis
    from carrysave.api.targets import Target
    from carrysave.api.verification import Verification

    Formats = str | tuple[str, str]
    Scales = tuple[ArrayLike, ArrayLike] | None

__all__ = ["Design"]

Folder = str | PathLike[str]

_VERIFY = VerifyOptions()


class Design(ExplicitDesign):
    """A design of the catalogue with all its parameters.

    It is a :class:`hw.catalog.Design` that can also be written, verified, multiplied with,
    simulated, and synthesised. Two of the same name and parameters are equal.

    Parameters
    ----------
    name : of the catalogue, as ``carrysave list`` has it.
    parameters, values : parameters that differ from their defaults, by name; widths in bits. Of a
        design with an engine, those of the engine, too. ``engine`` is a text, such as
        ``"systolic_os(m=4,n=4)"``, or a design.

    Members
    -------
    module : str       Name of the Verilog module.
    parameters :       Every parameter, those at their defaults, too.
    spec :             What is computed: formats, widths, shape of a tile.
    engine :           The design inside, if it has one.
    explicit : frozenset   Names of the parameters that were given; a search may change the others.

    Raises
    ------
    ValueError
        Unknown name or parameter, value out of range.
    TypeError
        Value of the wrong kind.

    Examples
    --------
    >>> import carrysave
    >>> design = carrysave.Design("systolic_os", m=2, n=2, k_max=16)
    >>> design.module
    'systolic_os_m2_n2_k_max16'
    >>> design.multiply([[1, 2], [3, 4]], [[1, 0], [0, -1]])
    array([[ 1, -2],
           [ 3, -4]])
    """

    def _repr_html_(self) -> str:
        """Return what it is, and its parameters, for a notebook."""
        from carrysave.report import cell, design_page

        return cell.render(design_page.of_design(self), {})

    @property
    def twin(self) -> Callable[..., Any]:
        """The golden function of the design, in numpy; its first argument, the spec, is given."""
        return partial(getattr(self.entry.golden, self.name), self.spec)

    @public
    def generate(
        self,
        folder: Folder = "build",
        *,
        period_ns: float = 10.0,
        outside: float | None = None,
        docs: bool = False,
        progress: Steps | bool = False,
    ) -> "Files":
        """Write Verilog-2005, manifest, constraints, file list, FuseSoC core.

        A co-processor becomes a folder, with its register map, drivers, IP-XACT, a LiteX module
        and a README. Existing files of the same names are overwritten.

        Parameters
        ----------
        folder : where; made if it is not there.
        period_ns : clock period in the constraints, ns.
        outside : share of it that paths take outside the block; 0, of co-processors 0.3.
        docs : of a co-processor, write the register map as HTML, too: 9 MB.
        progress : say on stderr what is done.

        Returns
        -------
        The files, and the manifest.
        """
        from carrysave.api.files import generate

        timing = {"period_ns": period_ns, "outside": outside}
        return generate(self, folder, timing, docs=docs, progress=progress)

    @public
    @by_name(VerifyOptions)
    def verify(
        self,
        options: VerifyOptions = _VERIFY,
        *,
        folder: Folder = "build",
        progress: Steps | bool = False,
    ) -> "Verification":
        """Run the design's cocotb regression against its numpy twin.

        Parameters
        ----------
        options : a :class:`carrysave.VerifyOptions`, or its fields by name, such as ``seed=7``.
        folder : the run gets a folder of its own in ``folder/runs``.
        progress : say on stderr what is done.
        """
        from carrysave.api.verification import verify

        return verify(self, options, folder=folder, progress=progress)

    @public
    def synthesise(self, target: "Target" = None, **options: Any) -> "Synthesis":
        """Synthesise it: area, timing, power; see :func:`carrysave.synthesise`.

        Parameters
        ----------
        target : cell library or family of FPGAs by name, Liberty files, or a library.
        options : of :func:`carrysave.synthesise`, such as ``period_ns=2.5`` or ``place=True``.
        """
        from carrysave.api.synthesis import synthesise

        return synthesise(self, target, **options)

    @overload
    def multiply(self, a: "ArrayLike", b: "ArrayLike") -> "np.ndarray": ...

    @overload
    def multiply(
        self, a: "ArrayLike", b: "ArrayLike", *, formats: "Formats", scales: "Scales" = None
    ) -> "FormatProduct": ...

    @public
    def multiply(
        self,
        a: "ArrayLike",
        b: "ArrayLike",
        *,
        formats: "Formats | None" = None,
        scales: "Scales" = None,
    ) -> "np.ndarray | FormatProduct":
        """Multiply matrices by the numpy twin: what :meth:`simulate` finds, in no time.

        Parameters
        ----------
        a : M x K integers: codes of the engine's format of A.
        b : K x N codes of B; those of low-bit weights may be of other numbers, see the spec.
        formats : of an array of lanes: those of A and B, as in ``("e4m3", "int8")``, or one for
            both. Integers are codes then, too; floats are rounded to the format, to nearest.
        scales : of an array with scales: their codes, M x blocks of A, and blocks x N of B.

        Returns
        -------
        M x N int64; a K above ``k_max`` is cut, and the products of its parts are added. With
        formats, codes, and ``values``: exact sums, or what they round to, once.

        Raises
        ------
        TypeError
            The design is no engine, and no co-processor with an engine of integers; or formats or
            scales are given but unsupported, or missing.
        ValueError
            Shapes that do not fit, or codes out of range.
        """
        from carrysave.api.simulation import multiply

        return multiply(self, a, b, formats, scales)

    @overload
    def simulate(
        self,
        a: "ArrayLike",
        b: "ArrayLike",
        *,
        folder: Folder = "build",
        progress: Steps | bool = False,
    ) -> "np.ndarray": ...

    @overload
    def simulate(
        self,
        a: "ArrayLike",
        b: "ArrayLike",
        *,
        formats: "Formats",
        scales: "Scales" = None,
        folder: Folder = "build",
        progress: Steps | bool = False,
    ) -> "FormatProduct": ...

    @public
    def simulate(
        self,
        a: "ArrayLike",
        b: "ArrayLike",
        *,
        formats: "Formats | None" = None,
        scales: "Scales" = None,
        folder: Folder = "build",
        progress: Steps | bool = False,
    ) -> "np.ndarray | FormatProduct":
        """Multiply matrices on the generated Verilog, simulated by Verilator.

        Any size is cut into tiles; a co-processor does that itself, from a simulated memory.

        Parameters
        ----------
        a, b, formats, scales : as for :meth:`multiply`.
        folder : the run gets a folder of its own in ``folder/runs``.
        progress : say on stderr how far it is.

        Returns
        -------
        As of :meth:`multiply`.

        Raises
        ------
        TypeError, ValueError
            As :meth:`multiply` does.
        RuntimeError
            The simulation failed; names the log.
        """
        from carrysave.api.simulation import simulate

        return simulate(self, a, b, formats, scales, folder=folder, progress=progress)
