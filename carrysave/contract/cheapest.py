"""The cheapest choice of which every one of some sets has a member."""

from collections.abc import Sequence

__all__ = ["cheapest"]


def cheapest(costs: Sequence[int], sets: Sequence[int]) -> tuple[int, ...]:
    """Choose members whose product of costs is the least, by branch and bound.

    Parameters
    ----------
    costs : of each member, one or more.
    sets : members as bits of a number.

    Raises
    ------
    ValueError
        A set is empty.
    """
    sets = [
        each
        for each in set(sets)
        if not any(each != more and each & more == more for more in set(sets))
    ]
    if 0 in sets:
        raise ValueError("sets must have members, and one has none")
    inside = [
        sum((each >> member & 1) << place for place, each in enumerate(sets))
        for member in range(len(costs))
    ]
    order = sorted(range(len(costs)), key=lambda member: (costs[member], member))
    useful: list[int] = []
    for member in order:
        # One that costs no more is in all of these sets, too.
        if inside[member] and not any(inside[member] & ~inside[less] == 0 for less in useful):
            useful.append(member)
    best: tuple[int | None, tuple[int, ...]] = (None, ())

    def search(chosen: tuple[int, ...], cost: int, left: int) -> None:
        nonlocal best
        if not left:
            best = cost, chosen
            return
        lowest = left & -left
        for member in useful:
            more = cost * costs[member]
            if best[0] is not None and more >= best[0]:
                break
            if inside[member] & lowest:
                search((*chosen, member), more, left & ~inside[member])

    search((), 1, (1 << len(sets)) - 1)
    return tuple(sorted(best[1]))
