"""Whether the body of each test was really run, to its end, and is still the one that was collected."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .places import Project

NOT_RUN, RAISED, PASSED = "not run", "raised", "passed"


class Bodies:
    """What became of the body of each test, by node id. ``outcomes`` holds ``not run``, ``raised`` or ``passed``."""

    def __init__(self, project: Project) -> None:
        self.outcomes: Dict[str, str] = {}
        self._project = project
        self._collected: Dict[int, Tuple[Any, List[Tuple[Any, Any]]]] = {}

    def collected(self, item: Any) -> None:
        """Keep the functions of an item and their code, as they are before any test runs."""
        known = [(each, each.__code__) for each in _functions(getattr(item, "obj", None))]
        self._collected[id(item)] = (item, known)  # by identity: plug-ins rename items

    def watch(self, item: Any) -> None:
        """Put a wrapper around the test function, or the unittest method, that is about to be called."""
        method, name = item.obj, item.nodeid
        self.outcomes[name] = NOT_RUN
        coroutine = inspect.iscoroutinefunction(method)
        watched = (_watched_coroutine if coroutine else _watched)(self.outcomes, name, method)
        is_case = hasattr(item, "addFailure")
        if is_case:  # unittest takes the method from the instance: pytest puts it there, plug-ins of frameworks do not
            setattr(getattr(item, "instance", None) or item._testcase, item.name, watched)
        if not (is_case and coroutine):
            item.obj = watched

    def changed(self, item: Any) -> Optional[str]:
        """What is not as it was collected, in one line: the body was put in place of another, or got other code.

        To be asked just before the body is called. Installed plug-ins may replace it (those for coroutines do).
        """
        known = self._collected.get(id(item), (item, []))[1]
        for function, code in known:
            if function.__code__ is not code:
                return "the code of %s was replaced" % item.nodeid
        now = list(_functions(getattr(item, "obj", None)))
        if not known or not now or any(function in now for function, _ in known):
            return None
        place = self._project.relative(now[0].__code__.co_filename)
        return "the body of %s was replaced by %s" % (item.nodeid, place) if place else None

    def recoded(self) -> List[str]:
        """The tests whose functions have other code at the end than when they were collected."""
        return [
            "the code of %s was replaced" % item.nodeid
            for item, known in self._collected.values()
            if any(function.__code__ is not code for function, code in known)
        ]


def _functions(value: Any) -> Iterator[Any]:
    """The Python functions behind a callable: itself, and what it wraps."""
    seen = set()
    while value is not None and id(value) not in seen:
        seen.add(id(value))
        value = getattr(value, "__func__", value)
        if inspect.isfunction(value):
            yield value
        value = getattr(value, "__wrapped__", None)


def _watched(outcomes: Dict[str, str], name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def watched(*args: Any, **kwargs: Any) -> Any:
        outcomes[name] = RAISED
        result = method(*args, **kwargs)
        outcomes[name] = PASSED
        return result

    return watched


def _watched_coroutine(outcomes: Dict[str, str], name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def watched(*args: Any, **kwargs: Any) -> Any:
        outcomes[name] = RAISED
        result = await method(*args, **kwargs)
        outcomes[name] = PASSED
        return result

    return watched
