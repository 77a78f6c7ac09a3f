"""All edits of all templates at all suspicious places, the likeliest first, a few in memory at a time.

The rank of an edit is its cost plus a penalty for the place: ``PLACE_WEIGHT`` for a line of no suspicion, nothing for
the most suspicious. So good ideas at bad places and odd ideas at good places take turns. Sites are opened when the rank
of their cheapest edit is reached, templates at a site likewise, so that a search that ends early pays for little.
"""

from __future__ import annotations

import ast
import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planexec.repair.donors import Donors
from planexec.repair.edits import Edit
from planexec.repair.localise import Suspicion
from planexec.repair.site import Site, sites
from planexec.repair.source import Source, Unit
from planexec.repair.templates import ALL, Template

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
    """A template that runs at a site with its next edit, or (``edits`` None) a site with templates not yet begun."""

    rank: float
    number: int
    place: Place = field(compare=False)
    site: Site = field(compare=False)
    templates: tuple[Template, ...] = field(compare=False)
    edits: Iterator[Edit] | None = field(compare=False, default=None)
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
    queue = _Queue([each for each in ALL if reach == "wide" or not each.wide])
    for place in located:
        yield from queue.until(place.penalty + queue.floor)
        for site in sites(place.source, place.unit, donors):
            queue.add(place, site)
    yield from queue.until(math.inf)


class _Queue:
    """Edits that wait, by rank. A site is one entry until the rank of its next template is reached."""

    def __init__(self, templates: Sequence[Template]) -> None:
        self._templates = sorted(templates, key=lambda each: each.floor)
        self._by_type: dict[type[ast.AST], tuple[Template, ...]] = {}
        self._heap: list[_Waiting] = []
        self._number = 0
        self.floor = min((each.floor for each in templates), default=0.0)

    def add(self, place: Place, site: Site) -> None:
        """Let the templates that act on the site's node wait for their turn."""
        kind = type(site.node)
        if kind not in self._by_type:
            self._by_type[kind] = tuple(each for each in self._templates if issubclass(kind, each.nodes))
        self._push(place, site, self._by_type[kind])

    def until(self, rank: float) -> Iterator[Ranked]:
        """All edits that rank below ``rank``."""
        while self._heap and self._heap[0].rank < rank:
            first = heapq.heappop(self._heap)
            if first.edits is None:
                begun, *rest = first.templates
                self._push(first.place, first.site, tuple(rest))
                first.edits = begun.generate(first.site)
            elif first.edit is not None:
                yield Ranked(first.edit, first.rank, first.place.score)
            first.edit = next(first.edits, None)
            if first.edit is not None:
                first.rank = max(first.rank, first.place.penalty + first.edit.cost)
                heapq.heappush(self._heap, first)

    def _push(self, place: Place, site: Site, templates: tuple[Template, ...]) -> None:
        if templates:
            self._number += 1
            rank = place.penalty + templates[0].floor
            heapq.heappush(self._heap, _Waiting(rank, self._number, place, site, templates))
