"""Rotary positions as a ``config.json`` says them."""

from typing import Any

from carrysave.compiler.front.decoder import Rope
from carrysave.compiler.front.facts import Facts
from carrysave.compiler.front.families import Family
from carrysave.compiler.front.rope import Scaling, rope_of

__all__ = ["ropes_of"]

_KINDS = {
    "default": "none",
    "linear": "linear",
    "dynamic": "none",
    "llama3": "llama3",
    "yarn": "yarn",
    "longrope": "longrope",
    "su": "longrope",
}
_NO_BASE = ("llama", "mistral", "phi3", "mixtral")
"""Kinds of which the first files say no base, which is 10,000."""


def ropes_of(
    facts: Facts, family: Family, windows: list[int], sizes: tuple[int, int]
) -> tuple[int, list[Rope | None]]:
    """Return the longest text, and the rotary positions of each layer.

    Parameters
    ----------
    facts : the configuration.
    family, windows : of the model, of each layer.
    sizes : values of a head that are turned, and all.
    """
    context = facts.integer("max_position_embeddings")
    given = facts.take("rope_parameters", {})
    if not isinstance(given, dict):
        raise facts.refused("rope_parameters", "an object", given)
    nested = ("full_attention", "sliding_attention")
    if set(given) == set(nested) and all(isinstance(one, dict) for one in given.values()):
        whole_ones, local_ones = (given[one] for one in nested)
        base, local_base = (_base(facts, one) for one in (whole_ones, local_ones))
    else:
        whole_ones = local_ones = given or facts.take("rope_scaling", {})
        base = facts.number("rope_theta", _default(facts, given), low=1.0, high=1e9)
        local_base = facts.number("rope_local_base_freq", base, low=1.0, high=1e9)
        if "rope_local_base_freq" in facts:
            local_ones = {}
    if given and "rope_scaling" in facts:
        wrong = facts.take("rope_scaling")
        raise facts.refused("rope_scaling", "left out with rope_parameters", wrong)
    original = facts.integer("original_max_position_embeddings", context)
    rotary, head = sizes
    context, changed = _scaling(facts, whole_ones, context, original)
    whole = rope_of(base, rotary, head, changed)
    local = rope_of(local_base, rotary, head, _scaling(facts, local_ones, context, original)[1])
    ropes = [local if window else whole for window in windows]
    turned = _turned(facts, family, len(windows))
    return context, [rope if one else None for rope, one in zip(ropes, turned, strict=True)]


def _default(facts: Facts, given: dict[str, Any]) -> Any:
    """Return the base if no entry of its own says it."""
    plain = 10000.0 if facts.take("model_type") in _NO_BASE else None
    return given.get("rope_theta", plain)


def _base(facts: Facts, values: Any) -> float:
    return Facts(facts.path, values).number("rope_theta", low=1.0, high=1e9)


def _turned(facts: Facts, family: Family, layers: int) -> list[bool]:
    """Return which layers turn queries and keys."""
    if not family.no_rope:
        return [True] * layers
    every = facts.integer("no_rope_layer_interval", family.no_rope)
    listed = facts.take("no_rope_layers", [int((one + 1) % every != 0) for one in range(layers)])
    right = isinstance(listed, list) and len(listed) == layers
    if not right or not all(isinstance(one, int) and one in (0, 1) for one in listed):
        raise facts.refused("no_rope_layers", f"{layers} of 0 and 1", listed)
    return [bool(one) for one in listed]


def _scaling(facts: Facts, values: Any, context: int, original: int) -> tuple[int, Scaling]:
    """Return the longest text that angles are made for, and how they are scaled."""
    if not isinstance(values, dict):
        raise facts.refused("rope_scaling", "an object", values)
    inner = Facts(facts.path, values)
    inner.take("rope_theta")
    inner.only("partial_rotary_factor", 1.0)
    name = "rope_type" if "rope_type" in inner else "type"
    given = inner.choice(name, tuple(_KINDS), "default")
    inner.take("type")
    kind = _KINDS[given]
    if given == "default":
        inner.check_rest()
        return context, Scaling()
    if given == "dynamic":  # which nothing changes up to the context
        inner.take("factor")
        inner.check_rest()
        return context, Scaling()
    attention = inner.take("attention_factor")
    if attention is not None and kind in ("yarn", "longrope"):
        attention = inner.positive("attention_factor")
    before = inner.integer("original_max_position_embeddings", original)
    made: dict[str, Any] = {"kind": kind, "attention": attention, "original": before}
    if kind == "longrope":
        lists = [inner.take(one) for one in ("short_factor", "long_factor")]
        if not all(_is_list(one) for one in lists):
            raise inner.refused("short_factor, long_factor", "lists of numbers above 0", lists)
        factor = inner.positive("factor", context / before)
        if "original_max_position_embeddings" in facts:
            factor = context / before
        made |= {"divisors": lists[0], "factor": factor}
        context = min(context, before)
    else:
        made["factor"] = inner.number("factor", low=1.0)
    if kind == "llama3":
        made |= {
            "low": inner.positive("low_freq_factor"),
            "high": inner.positive("high_freq_factor"),
        }
        if made["low"] >= made["high"]:
            raise inner.refused("high_freq_factor", "above low_freq_factor", made["high"])
    if kind == "yarn":
        made |= {
            "fast": inner.positive("beta_fast", 32.0),
            "slow": inner.positive("beta_slow", 1.0),
        }
        inner.only("truncate", True)
    inner.check_rest()
    return context, Scaling(**made)


def _is_list(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and 0 < one < 1e9
        for one in values
    )
