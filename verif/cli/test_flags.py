"""Options by one name: flags are those of the dataclasses, errors name flags or arguments."""

import pickle
from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
import pytest
from cyclopts import Parameter

import carrysave
from carrysave.api.options import RunOptions, VerifyOptions
from carrysave.asic.options import CompareOptions, SynthesisOptions
from carrysave.cli.chat_flags import ChatFlags
from carrysave.cli.embed import EmbedFlags
from carrysave.cli.explore import ExploreFlags
from carrysave.cli.flags import CompareFlags, SynthesisFlags
from carrysave.cli.pack import PackFlags
from carrysave.cli.run import RunFlags
from carrysave.cli.train import TrainFlags
from carrysave.cli.verify import VerifyFlags
from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.encoder.request import EmbedOptions
from carrysave.errors import ArgumentError, check_choice, option_of
from carrysave.exploration.options import ExploreOptions
from carrysave.keywords import differing
from carrysave.training.options import TrainOptions
from carrysave.weights.request import PackRequest


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (CompareFlags, CompareOptions),
        (SynthesisFlags, SynthesisOptions),
        (ExploreFlags, ExploreOptions),
        (VerifyFlags, VerifyOptions),
        (RunFlags, RunOptions),
        (ChatFlags, ChatOptions),
        (EmbedFlags, EmbedOptions),
        (PackFlags, PackRequest),
        (TrainFlags, TrainOptions),
    ],
)
def test_flags_are_the_options_with_help(flags: type[Any], options: type[Any]) -> None:
    """Same names and defaults; each has help, or is no flag."""
    assert vars(flags()) == vars(options())
    hints = get_type_hints(flags, include_extras=True)
    for one in fields(options):
        (said,) = (each for each in hints[one.name].__metadata__ if isinstance(each, Parameter))
        assert said.help or said.parse is False, one.name


def test_options_are_one_value_or_names() -> None:
    design = carrysave.Design("mac", a_width=2, b_width=2, accumulator_width=6)
    options = carrysave.SynthesisOptions(activity="none")
    found = carrysave.synthesise(design, "generic", options)
    named = carrysave.synthesise(design, "generic", activity="none")
    assert found.command.endswith("'generic', SynthesisOptions(activity='none'))")
    assert {**found.facts, "command": ""} == {**named.facts, "command": ""}
    assert differing(options) == {"activity": "none"}
    with pytest.raises(ArgumentError, match=r"^recipe excludes sweep, search_recipes, period_ns"):
        carrysave.synthesise(design, "generic", options, recipe="tree+amap", sweep=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'perod'"):
        carrysave.synthesise(design, perod=1)
    with pytest.raises(TypeError, match="options must be SynthesisOptions, not 3"):
        carrysave.synthesise(design, options=3)


def test_an_array_is_written_as_an_option() -> None:
    """It is no array of answers to whether it is nothing."""
    assert differing(RunOptions(labels=np.arange(2), batch=3)).keys() == {"labels", "batch"}
    assert repr(RunOptions(labels=np.arange(2))) == "RunOptions(labels=array([0, 1]))"


def test_an_error_names_arguments_or_options() -> None:
    """What users wrote is no template, and an error can go to another process."""
    with pytest.raises(ArgumentError) as raised:
        check_choice("period_ns", "{sweep} --place", ["a{b}"])
    error = pickle.loads(pickle.dumps(raised.value))
    assert str(error) == "period_ns must be one of a{b}, not '{sweep} --place'"
    assert error.naming(option_of) == "--period must be one of a{b}, not '{sweep} --place'"
    former = ArgumentError.of_options("--search-recipes is {not} for `carrysave synth --place`")
    assert str(former) == "search_recipes is {not} for `carrysave synth --place`"
    assert former.naming(option_of).startswith("--search-recipes is {not}")
