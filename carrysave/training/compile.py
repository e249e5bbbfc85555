"""A training step of a small network as a program: products as jobs, all else in floats.

A layer is Y = X W + b; between layers is a ReLU, behind the last one the cross entropy of a
softmax. Its gradients are products, too: dX = dY W^T and dW = X^T dY. A section ends before each
product whose operands are results: there the host rounds them, see :mod:`.encodings`.
"""

from dataclasses import dataclass, replace

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.build import Builder
from carrysave.compiler.program.floats import Format, Operation, SectionStep
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.image import COUNTERS, Image
from carrysave.compiler.program.jobs import Scaled, scaled_product
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.training.encodings import Encoding
from carrysave.training.recipes import Recipe

__all__ = ["Rates", "StepProgram", "compiled"]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How weights follow gradients: v = momentum * v + gradient; weight -= rate * v.

    The rate falls evenly, from step to step, to 0 after the last one.
    """

    rate: float
    momentum: float
    steps: int

    def at(self, step: int) -> float:
        """Return the rate of a step, the first of which is 0."""
        return self.rate * (1 - step / self.steps)


@dataclass(frozen=True, kw_only=True)
class StepProgram:
    """A program, and what the host does between its sections.

    Members
    -------
    program : of sections alone.
    encodings : before each section.
    x, wanted : a batch, and a one in each row for the class that it is of; floats.
    y : logits.
    rate : of the step, a float.
    weights, biases : of each layer, floats.
    gradients : of weights, then of biases; empty if the program does not learn.
    """

    program: Program
    encodings: tuple[tuple[Encoding, ...], ...]
    x: Buffer
    wanted: Buffer
    y: Buffer
    rate: Buffer
    weights: tuple[Buffer, ...]
    biases: tuple[Buffer, ...]
    gradients: tuple[Buffer, ...]


def compiled(
    recipe: Recipe, target: Target, sizes: tuple[int, ...], batch: int, rates: Rates | None
) -> StepProgram:
    """Compile a step; without rates a forward pass alone.

    Parameters
    ----------
    recipe : of operands.
    target : a co-processor for it.
    sizes : numbers of the input, and of each layer's output.
    batch : rows.
    """
    return _Compiler(recipe, target, sizes, batch).step(rates)


class _Compiler:
    """Adds steps, section by section."""

    def __init__(self, recipe: Recipe, target: Target, sizes: tuple[int, ...], batch: int) -> None:
        self.recipe, self.target, self.batch = recipe, target, batch
        self.mode = recipe.mode(target)
        self.image = Image(target)
        self.builder = Builder(self.image)
        self.sections: list[list[SectionStep]] = []
        self.encodings: list[list[Encoding]] = []
        self.layers = range(len(sizes) - 1)
        self.x = [self.floats(f"x{n}", batch, sizes[n]) for n in self.layers]
        self.y = [self.floats(f"y{n}", batch, sizes[n + 1]) for n in self.layers]
        self.w = [self.floats(f"w{n}", sizes[n], sizes[n + 1]) for n in self.layers]
        self.b = [self.floats(f"b{n}", 1, sizes[n + 1]) for n in self.layers]
        self.wanted = self.floats("wanted", batch, sizes[-1])
        self.rate = self.floats("rate", 1, 1)

    def step(self, rates: Rates | None) -> StepProgram:
        """Return the program."""
        for layer in self.layers:
            self.forward(layer)
        gradients: tuple[Buffer, ...] = ()
        if rates is not None:
            dw = [self.floats(f"dw{n}", w.rows, w.columns) for n, w in enumerate(self.w)]
            db = [self.floats(f"db{n}", 1, b.columns) for n, b in enumerate(self.b)]
            gradients = (*dw, *db)
            of_y = self.loss()
            for layer in reversed(self.layers):
                of_y = self.backward(layer, of_y, dw[layer], db[layer])
                self.update(self.w[layer], dw[layer], rates)
                self.update(self.b[layer], db[layer], rates)
        return StepProgram(
            program=assembled(self.image, self.sections),
            encodings=tuple(map(tuple, self.encodings)),
            x=self.x[0],
            wanted=self.wanted,
            y=self.y[-1],
            rate=self.rate,
            weights=tuple(self.w),
            biases=tuple(self.b),
            gradients=gradients,
        )

    def floats(self, name: str, rows: int, columns: int) -> Buffer:
        """Return room for floats."""
        made = self.image.reserve(name, rows, columns, 32, stride=self.image.stride(32, columns))
        self.image.buffers[made.name] = replace(made, format=Format.F32)
        return self.image.buffers[made.name]

    def bytes(self, name: str, rows: int, columns: int) -> Buffer:
        return self.image.reserve(name, rows, columns, 8, stride=self.image.stride(8, columns))

    def section(self) -> None:
        """Begin one."""
        self.builder.steps = []
        self.sections.append(self.builder.steps)
        self.encodings.append([])

    def encoded(self, name: str, source: Buffer, *, of_b: bool, gradient: bool) -> Encoding:
        """Have the host round floats before the section: rows of A, or columns of B."""
        mode, k = self.mode, source.rows if of_b else source.columns
        words, blocks = -(-k // mode.codes), mode.blocks(k)
        rows = words if of_b else source.rows
        wide = mode.b_stored.row_bytes(source.columns * mode.codes) if of_b else mode.a.row_bytes(k)
        shape = (blocks, source.columns) if of_b else (source.rows, blocks)
        one = Encoding(
            source=source,
            to=Scaled(
                mode=mode,
                k=k,
                codes=self.bytes(f"{name}.codes", rows, wide),
                scales=self.bytes(f"{name}.scales", *shape),
            ),
            factor=self.floats(f"{name}.factor", 1, 1) if self.recipe.tensor_scaled else None,
            of_b=of_b,
            gradient=gradient,
        )
        self.encodings[-1].append(one)
        return one

    def product(self, name: str, a: Buffer, b: Buffer, c: Buffer, gradients: str = "") -> None:
        """Add C = A x B; `gradients` has the letters of operands that are some."""
        of_a = self.encoded(f"{name}.a", a, of_b=False, gradient="a" in gradients)
        of_b = self.encoded(f"{name}.b", b, of_b=True, gradient="b" in gradients)
        job = scaled_product(self.target, of_a.to, of_b.to, c)
        self.builder.run()
        self.builder.steps.append(
            Start(
                node=name,
                operator="product",
                groups=(JobGroup(job=job),),
                cycles=0,
                macs=job.m * job.k * job.n,
                counters=self.image.room(COUNTERS),
            )
        )
        for factor in (of_a.factor, of_b.factor):
            if factor is not None:
                self.builder.floats(Operation.MULTIPLY, c, c, factor)

    def forward(self, layer: int) -> None:
        """Add Y = X W + b, and the next layer's X."""
        self.section()
        y, build = self.y[layer], self.builder
        with build.naming(f"forward{layer}", "Gemm"):
            self.product(f"y{layer}", self.x[layer], self.w[layer], y)
            build.floats(Operation.ADD, y, y, self.b[layer])
            if layer + 1 in self.layers:
                zero = build.constant(0.0, Format.F32)
                build.floats(Operation.MAXIMUM, self.x[layer + 1], y, zero)

    def loss(self) -> Buffer:
        """Add the gradient of the cross entropy of a softmax, in the mean of a batch."""
        y, build = self.y[-1], self.builder
        made, row = self.floats("dy", y.rows, y.columns), self.floats("row", y.rows, 1)
        with build.naming("loss", "SoftmaxCrossEntropyLoss"):
            build.floats(Operation.GREATEST, row, y)
            build.floats(Operation.SUBTRACT, made, y, row)
            build.floats(Operation.EXP, made, made)
            build.floats(Operation.SUM, row, made)
            build.floats(Operation.QUOTIENT, made, made, row)
            build.floats(Operation.SUBTRACT, made, made, self.wanted)
            each = build.constant(1 / self.batch, Format.F32)
            build.floats(Operation.MULTIPLY, made, made, each)
        return made

    def backward(self, layer: int, of_y: Buffer, dw: Buffer, db: Buffer) -> Buffer:
        """Add dX = dY W^T and dW = X^T dY; return the gradient of the layer before."""
        self.section()
        x, build = self.x[layer], self.builder
        of_x = of_y
        with build.naming(f"backward{layer}", "Gemm"):
            if layer:
                of_x = self.floats(f"dx{layer}", x.rows, x.columns)
                self.product(f"dx{layer}", of_y, self.w[layer].turned, of_x, "a")
            self.product(f"dw{layer}", x.turned, of_y, dw, "b")
            build.floats(Operation.SUM, db.turned, of_y.turned)
            if layer:
                # X is Y where that is above 0, and 0 elsewhere: X / Y is 1 there, and 0.
                open_ = self.floats(f"open{layer}", x.rows, x.columns)
                build.floats(Operation.DIVIDE, open_, x, self.y[layer - 1])
                build.floats(Operation.MULTIPLY, of_x, of_x, open_)
        return of_x

    def update(self, weights: Buffer, gradient: Buffer, rates: Rates) -> None:
        """Add momentum and an update."""
        build = self.builder
        velocity = self.floats(f"{weights.name}.velocity", weights.rows, weights.columns)
        change = self.floats(f"{weights.name}.change", weights.rows, weights.columns)
        with build.naming(f"update.{weights.name}", "Momentum"):
            momentum = build.constant(rates.momentum, Format.F32)
            build.floats(Operation.MULTIPLY, velocity, velocity, momentum)
            build.floats(Operation.ADD, velocity, velocity, gradient)
            build.floats(Operation.MULTIPLY, change, velocity, self.rate)
            build.floats(Operation.SUBTRACT, weights, weights, change)
