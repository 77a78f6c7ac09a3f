"""All edits of all templates at all suspicious places, the likeliest first, a few in memory at a time.

The rank of an edit is its cost plus a penalty for the place: ``PLACE_WEIGHT`` for a line of no suspicion, nothing for
the most suspicious. So good ideas at bad places and odd ideas at good places take turns. Sites are opened when the rank
of their cheapest edit is reached, templates at a site likewise, so that a search that ends early pays for little.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planexec.repair.donors import Donors
from planexec.repair.edits import Edit
from planexec.repair.localise import Suspicion
from planexec.repair.site import sites
from planexec.repair.source import Source, Unit
from planexec.repair.templates import ALL

Reach = Literal["suspicious", "wide"]
PLACE_WEIGHT = 1.5
ORDER_WEIGHT = 0.06
SUSPICIOUS_LINES = 150
WIDE_LINES = 2000


@dataclass(frozen=True, slots=True)
class Ranked:
    """An edit with its rank (lower is sooner) and the suspicion, 0 to 1, of its place."""

    edit: Edit
    rank: float
    score: float


@dataclass(frozen=True, slots=True)
class Place:
    """A statement with the penalty of its place and the suspicion it comes from."""

    source: Source
    unit: Unit
    penalty: float
    score: float


@dataclass(order=True, slots=True)
class _Waiting:
    rank: float
    number: int
    penalty: float = field(compare=False)
    score: float = field(compare=False)
    edits: Iterator[Edit] = field(compare=False)
    edit: Edit | None = field(compare=False, default=None)


def places(
    suspicions: Sequence[Suspicion], donors: Donors, editable: Callable[[str], bool], reach: Reach
) -> list[Place]:
    """The statements at the suspicious lines, each once, most suspicious first."""
    most = SUSPICIOUS_LINES if reach == "suspicious" else WIDE_LINES
    ordered = sorted(suspicions, key=lambda each: (-each.score, each.path, each.line))
    ordered = [each for each in ordered if each.score > 0 and editable(each.path)][:most]
    top = max((each.score for each in ordered), default=1.0)
    seen: set[Unit] = set()
    found: list[Place] = []
    for suspicion in ordered:
        source = donors.source(suspicion.path)
        for unit in source.units.get(suspicion.line, []) if source is not None else []:
            if source is None or unit in seen:
                continue
            seen.add(unit)
            relative = suspicion.score / top
            penalty = PLACE_WEIGHT * (1 - relative) + ORDER_WEIGHT * math.log2(1 + len(found))
            found.append(Place(source, unit, penalty, relative))
    return found


def stream(located: Sequence[Place], donors: Donors, reach: Reach) -> Iterator[Ranked]:
    """The edits at ``located`` (which is ordered by rising penalty) in the order of their rank."""
    templates = [each for each in ALL if reach == "wide" or not each.wide]
    heap: list[_Waiting] = []
    number = 0
    floor = min((each.floor for each in templates), default=0.0)
    for place in [*located, None]:
        bound = math.inf if place is None else place.penalty + floor
        while heap and heap[0].rank < bound:
            yield from _advance(heap)
        if place is None:
            break
        for site in sites(place.source, place.unit, donors):
            for template in templates:
                if isinstance(site.node, template.nodes):
                    number += 1
                    rank = place.penalty + template.floor
                    edits = template.generate(site)
                    heapq.heappush(heap, _Waiting(rank, number, place.penalty, place.score, edits))


def _advance(heap: list[_Waiting]) -> Iterator[Ranked]:
    """Take the first edit off the heap, give it out, and put its template back with the next one."""
    first = heapq.heappop(heap)
    if first.edit is not None:
        yield Ranked(first.edit, first.rank, first.score)
    following = next(first.edits, None)
    if following is not None:
        first.edit = following
        first.rank = max(first.rank, first.penalty + following.cost)
        heapq.heappush(heap, first)
