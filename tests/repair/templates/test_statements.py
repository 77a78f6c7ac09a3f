from __future__ import annotations

from tests.repair.functions import call, repair, texts


def test_guards_calls_and_assignments_are_put_in() -> None:
    text = "def f(items, new):\n    seen = set()\n    for each in items:\n        use(each)  # note\n    return seen\n"
    found = texts(text, template="statement")
    assert (
        text.replace("        use(each)", "        if each is None:\n            return None\n        use(each)")
        in found
    )
    assert text.replace("# note\n", "# note\n        seen.add(each)\n") in found
    assert text.replace("    return seen", "    new = items\n    return seen") in found


def test_statements_are_removed_exchanged_and_jumps_turned() -> None:
    text = "def f(a):\n    while a:\n        a = 1\n        g(a)\n        break\n"
    found = texts(text, template="statement")
    assert text.replace("a = 1", "pass") in found
    assert text.replace("a = 1\n        g(a)", "g(a)\n        a = 1") in found
    assert text.replace("break", "continue") in found


def test_documentation_is_not_removed_and_shared_lines_get_nothing() -> None:
    found = texts('def f(a):\n    """Text."""\n    b = a; c = b\n    if a: return b\n', template="statement")
    assert all('"""Text."""' in each for each in found)
    line = "    b = a; c = b\n"
    assert all(each.count("\n") == 4 for each in found if "b = a" in each and line not in each)


def test_tabs_and_line_ends_are_kept() -> None:
    text = "def f(a):\r\n\tb = a.x\r\n\treturn b\r\n"
    assert "def f(a):\r\n\tif a is None:\r\n\t\treturn None\r\n\tb = a.x\r\n\treturn b\r\n" in texts(text)


def test_a_missing_statement_is_repaired() -> None:
    result = repair(
        """
        def labels(items):
            found = []
            for item in items:
                label = item.upper()
            return found
        """,
        "labels",
        [((["a", "b"],), ["A", "B"]), (([],), []), ((["c"],), ["C"])],
        at="label = ",
    )
    assert "found.append(label)" in result.survivors[0].after


def test_a_container_of_an_outer_function_is_filled() -> None:
    text = """\
def reachable(graph, start, goal):
    visited = set()
    def search(node):
        if node in visited:
            return False
        if node == goal:
            return True
        return any(search(each) for each in graph[node])
    return search(start)
"""
    wanted = text.replace("        return any", "        visited.add(node)\n        return any")
    assert wanted in texts(text, template="statement")
    assert call(wanted.encode(), "reachable", [{1: [2], 2: [1], 3: []}, 1, 3]) is False


def test_a_missing_assignment_is_among_the_candidates_and_works() -> None:
    text = """\
def deltas(values):
    before, found = 0, []
    for each in values:
        found.append(each - before)
    return found
"""
    wanted = text.replace("before)\n", "before)\n        before = each\n")
    assert wanted in texts(text, template="statement")
    assert call(wanted.encode(), "deltas", [[1, 3, 6]]) == [1, 2, 3]
