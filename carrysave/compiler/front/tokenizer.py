"""Tokenizers of GGUF's vocabularies, by a library: pairs of bytes, and pieces with scores."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["CONTROL", "KINDS", "WITH_FIRST", "pairs_of_bytes", "pieces"]

CONTROL, _UNKNOWN, _OF_USER = 3, 2, 4
"""Kinds of tokens."""
_ENDINGS = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_BY_CASE = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+",
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*",
)
_REST_BY_CASE = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CL100K = rf"(?:{_ENDINGS})|{_WORDS}|\p{{N}}{{1,3}}|{_REST}"
_QWEN2 = rf"(?:{_ENDINGS})|{_WORDS}|\p{{N}}|{_REST}"
_TEKKEN = rf"{'|'.join(_BY_CASE)}|\p{{N}}|{_REST_BY_CASE}"
_O200K = "|".join((
    *(rf"{one}(?:{_ENDINGS})?" for one in _BY_CASE),
    r"\p{N}{1,3}",
    _REST_BY_CASE,
))
KINDS: dict[str, str | None] = {
    **dict.fromkeys(("default", "gpt-2", "olmo", "phi-2"), None),
    **dict.fromkeys(("smollm", "refact", "starcoder"), ""),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "smaug-bpe", "dbrx"), _CL100K),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), _QWEN2),
    "tekken": _TEKKEN,
    "gpt-4o": _O200K,
}
"""How texts are cut before pairs are merged: as GPT-2 does; with each digit apart; by a rule."""
WITH_FIRST = ("llama-bpe", "llama3", "llama-v3", "tekken")
"""Those whose texts begin with a token of their own, and whose words may be tokens unmerged."""


def pairs_of_bytes(
    tokens: list[str], merges: list[str], kinds: list[int], kind: str
) -> "Tokenizer":
    """Return what merges pairs of bytes.

    Parameters
    ----------
    tokens, kinds : texts, and what each is.
    merges : pairs, the first first.
    kind : of :data:`KINDS`.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    pairs = [(first, second) for first, _, second in (one.partition(" ") for one in merges)]
    made = Tokenizer(
        models.BPE(
            vocab={one: at for at, one in enumerate(tokens)},
            merges=pairs,
            ignore_merges=kind in WITH_FIRST,
        )
    )
    rule = KINDS[kind]
    parts: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not rule)]
    if rule == "":
        parts.insert(0, pre_tokenizers.Digits(individual_digits=True))
    elif rule is not None:
        parts.insert(0, pre_tokenizers.Split(Regex(rule), "isolated"))
    made.pre_tokenizer = pre_tokenizers.Sequence(parts)
    made.decoder = decoders.ByteLevel()
    _add(made, tokens, kinds)
    return made


def pieces(tokens: list[str], scores: list[float], kinds: list[int], prefix: bool) -> "Tokenizer":
    """Return what merges pieces, those of the best score first; bytes for what is no piece.

    Parameters
    ----------
    tokens, kinds : texts, and what each is.
    scores : of each.
    prefix : a text begins with a space.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers

    numbers = {one: at for at, one in enumerate(tokens)}
    merges = []
    for number, token in enumerate(tokens):
        if kinds[number] in (CONTROL, _UNKNOWN):
            continue
        halves = ((token[:at], token[at:]) for at in range(1, len(token)))
        merges += [
            (-scores[number], numbers[first], numbers[second], first, second)
            for first, second in halves
            if first in numbers and second in numbers
        ]
    merges.sort()
    unknown = [tokens[at] for at, kind in enumerate(kinds) if kind == _UNKNOWN]
    made = Tokenizer(
        models.BPE(
            vocab=numbers,
            merges=[one[3:] for one in merges],
            byte_fallback=True,
            fuse_unk=True,
            unk_token=unknown[0] if unknown else None,
        )
    )
    start = [normalizers.Prepend("\u2581")] if prefix else []
    made.normalizer = normalizers.Sequence([*start, normalizers.Replace(" ", "\u2581")])
    parts = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*parts, *([decoders.Strip(" ", 1, 0)] if prefix else [])])
    _add(made, tokens, kinds)
    return made


def _add(made: "Tokenizer", tokens: list[str], kinds: list[int]) -> None:
    """Have tokens cut out of texts that mean something by themselves."""
    from tokenizers import AddedToken

    of_kind = {
        kind: [one for at, one in enumerate(tokens) if kinds[at] == kind]
        for kind in (CONTROL, _OF_USER)
    }
    made.add_special_tokens([AddedToken(one, special=True) for one in of_kind[CONTROL]])
    made.add_tokens([AddedToken(one, normalized=False) for one in of_kind[_OF_USER]])
