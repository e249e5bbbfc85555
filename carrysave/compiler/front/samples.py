"""Where samples are in a network's inputs and outputs, and what goes from one to the next."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from carrysave.compiler.graph.graph import Graph, Sizes
from carrysave.compiler.graph.names import quoted
from carrysave.errors import ArgumentError, check_choice
from hw.emit.user_files import shown

__all__ = ["Samples", "sizes_text"]

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Samples:
    """The axis of the sample in each tensor, and states.

    Members
    -------
    inputs : axis of each input that has samples.
    outputs : axis of each output; a state has none.
    states : by output, the input that it is of the next sample.
    """

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    states: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, graph: Graph, axis: str | None = None, states: Mapping[str, str] | None = None
    ) -> "Samples":
        """Find the axes, from the model's file alone.

        Parameters
        ----------
        graph : the model.
        axis : name of the size that is the number of samples; None: that of the first axis of the
            first input. Where no axis has it, the first axis is the sample.
        states : by output, the input that it is of the next sample.

        Raises
        ------
        UsageError
            A name that the model has not.
        ValueError
            An input or output that has no such axis, a state that is not what it becomes.
        """
        states = dict(states or {})
        for name, to in states.items():
            _check_state(graph, name, to)
        if wrong := {to for to in states.values() if list(states.values()).count(to) > 1}:
            text = "{states}: input {_name} must be of one output"
            raise ArgumentError(text, _name=quoted(wrong.pop()))
        given = {name: each for name, each in graph.inputs.items() if name not in states.values()}
        if not given:
            raise ArgumentError("{states}: an input must have samples, and be no state")
        if axis is None:
            (_, first), *_ = given.values()
            symbol = first[0] if first and isinstance(first[0], str) and first[0] != "?" else None
        else:
            names = {one for _, each in given.values() for one in each if isinstance(one, str)}
            check_choice("batch_axis", axis, sorted(names - {"?"}))
            symbol = axis
        inputs = {
            name: _axis("input", name, sizes, symbol, axis is not None)
            for name, (_, sizes) in given.items()
        }
        fixed = {given[name][1][at] for name, at in inputs.items()}
        batch = {one for one in fixed if isinstance(one, int)} or {1}
        return cls(
            inputs=inputs,
            outputs={
                name: _axis("output", name, sizes, symbol, False, batch)
                for name, sizes in graph.output_sizes.items()
                if name not in states
            },
            states=states,
        )

    def count(self, inputs: Mapping[str, np.ndarray]) -> int:
        """Return the number of samples."""
        name, axis = next(iter(self.inputs.items()))
        return int(inputs[name].shape[axis])

    def part(self, inputs: Mapping[str, np.ndarray], start: int, count: int) -> Arrays:
        """Return some samples of the inputs; the first one is that of states, too."""
        part = {
            name: inputs[name][(*[slice(None)] * axis, slice(start, start + count))]
            for name, axis in self.inputs.items()
        }
        return part | {name: inputs[name] for name in self.states.values()}

    def after(self, part: Arrays, outputs: Mapping[str, np.ndarray]) -> Arrays:
        """Return the states behind a part of the samples.

        Raises
        ------
        ValueError
            A state has other sizes than it had.
        """
        for name, to in self.states.items():
            if np.shape(outputs[name]) != part[to].shape:
                before, actual = (sizes_text(np.shape(one)) for one in (part[to], outputs[name]))
                raise ValueError(
                    f"output {quoted(name)} must be {before}, as input {quoted(to)}, not {actual}"
                )
        return {to: outputs[name] for name, to in self.states.items()}

    def check(self, outputs: Mapping[str, np.ndarray], count: int) -> None:
        """Refuse outputs of another number of samples: those of batches would not be one."""
        for name, axis in self.outputs.items():
            array = outputs[name]
            if not isinstance(array, np.ndarray) or array.shape[axis : axis + 1] != (count,):
                where = f"axis {axis}" if axis else "first axis"
                text = f"its {where} must be the sample, {count} of them"
                raise ValueError(
                    f"output {quoted(name)}: {text}, not {sizes_text(np.shape(array))}"
                )

    def joined(self, parts: list[Arrays]) -> Arrays:
        """Join the outputs of batches; of states the last remains."""
        return {
            name: parts[-1][name]
            if name in self.states
            else np.concatenate([part[name] for part in parts], axis=self.outputs[name])
            for name in parts[0]
        }

    def first_states(self, graph: Graph, given: Mapping[str, np.ndarray]) -> Arrays:
        """Return zeros for the states that are not given; of the samples' size one."""
        batch = {graph.inputs[name][1][axis] for name, axis in self.inputs.items()}
        return dict(_zeros(graph, set(self.states.values()) - set(given), batch))


def _zeros(
    graph: Graph, names: set[str], batch: set[int | str]
) -> Iterator[tuple[str, np.ndarray]]:
    for name in sorted(names):
        kind, sizes = graph.inputs[name]
        shape = [1 if size in batch else size for size in sizes]
        if unknown := [size for size in shape if isinstance(size, str)]:
            text = "state {_name}: its size {_size} is open: {x} must have the first one"
            raise ArgumentError(text, _name=quoted(name), _size=shown(unknown[0]))
        yield name, np.zeros([int(size) for size in shape], kind)


def _axis(
    what: str,
    name: str,
    sizes: Sizes | None,
    symbol: str | None,
    asked: bool,
    batch: set[int] | None = None,
) -> int:
    """Return the axis of the sample of a tensor.

    Parameters
    ----------
    what, name, sizes : of the tensor; None: they are not known.
    symbol : the axis of this name is it, if there is one.
    asked : there must be one.
    batch : what the size of another axis may be, if it is no name.
    """
    if sizes is None:
        return 0
    tensor = f"{what} {quoted(name)}"
    here = [at for at, size in enumerate(sizes) if symbol is not None and size == symbol]
    if len(here) > 1:
        text = f"axes {', '.join(map(str, here))} are both {shown(symbol or '')}"
        raise ValueError(f"{tensor}: {text}: the sample must be one")
    if here:
        return here[0]
    if asked:
        raise ArgumentError(
            "{_name} must have an axis {_axis}, not be {_sizes}; {constants} or {states} may give"
            " it",
            _name=tensor,
            _axis=symbol,
            _sizes=sizes_text(sizes),
        )
    if not sizes and what == "input":
        raise ArgumentError(
            "{_name} is one number, and has no samples: {constants} makes it a part of the model",
            _name=tensor,
        )
    if not sizes or (batch is not None and isinstance(sizes[0], int) and sizes[0] not in batch):
        more = "{batch_axis} names another" if sizes else "it is one number"
        raise ArgumentError(
            f"{{_name}}: its first axis must be the sample, not {{_sizes}}; {more}",
            _name=tensor,
            _sizes=sizes_text(sizes),
        )
    return 0


def _check_state(graph: Graph, name: str, to: str) -> None:
    """Refuse a state whose output is not what its input takes."""
    for what, one, known in (("output", name, graph.outputs), ("input", to, graph.inputs)):
        if one not in known:
            text = "{states}: the {_what} must be one of {_known}, not {_one}"
            raise ArgumentError(text, _what=what, _known=", ".join(known), _one=repr(one))
    kind, sizes = graph.inputs[to]
    of_output = graph.output_sizes[name]
    same = of_output is None or (
        len(of_output) == len(sizes)
        and all(
            one == other
            for one, other in zip(of_output, sizes, strict=True)
            if isinstance(one, int) and isinstance(other, int)
        )
    )
    if not same:
        raise _no_state(
            name, to, f"{sizes_text(sizes)}, as the input,", sizes_text(of_output or ())
        )
    made = graph.types.get(name, kind)
    if made != kind:
        raise _no_state(name, to, str(kind), str(made))


def _no_state(name: str, to: str, legal: str, given: str) -> ArgumentError:
    """Return what is said of an output that cannot be a state."""
    return ArgumentError(
        "{states} {_pair}: output {_name} must be {_legal} not {_given}",
        _pair=f"{name}={to}",
        _name=quoted(name),
        _legal=legal if legal.endswith(",") else f"{legal},",
        _given=given,
    )


def sizes_text(sizes: "Sizes | tuple[int, ...]") -> str:
    """Return a shape as messages have it."""
    return " x ".join(shown(str(size)) for size in sizes) or "a number"
