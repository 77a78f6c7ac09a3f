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


def test_a_guard_leaves_as_the_function_does() -> None:
    bare = "def f(a, found):\n    found.append(a.x)\n"
    assert bare.replace("    found", "    if not a:\n        return\n    found", 1) in texts(bare, template="statement")
    valued = "def f(a, found):\n    if found:\n        return found.copy()\n    b = a.x\n    return b\n"
    guard = "    if a is None:\n        return found.copy()\n    b ="
    assert valued.replace("    b =", guard) in texts(valued, template="statement")
    looped = "def f(rows):\n    for row in rows:\n        use(row.x)\n"
    guard = "        if row is None:\n            continue\n        use"
    assert looped.replace("        use", guard) in texts(looped, template="statement")


def test_a_missing_key_is_guarded() -> None:
    text = """\
def shown(count, forms, other):
    form = "one" if count == 1 else "many"
    if count < 0:
        form = "many"
    return forms[form]
"""
    found = texts(text, template="statement")
    for body in ("return None", 'form = "many"'):
        assert text.replace("    return", f"    if form not in forms:\n        {body}\n    return") in found
    assert not any("if 0 not in" in each for each in texts("def f(a):\n    return a[0]\n", template="statement"))


def test_a_loop_is_left_and_a_variable_emptied() -> None:
    text = "def f(rows):\n    found = None\n    for row in rows:\n        if row.ok:\n"
    text += "            found = row\n    return found\n"
    found = texts(text, template="statement")
    assert text.replace("found = row\n", "found = row\n            break\n") in found
    assert text.replace("found = row\n", "found = row\n            row = None\n") in found
    assert not any("break" in each for each in texts("def f(a):\n    if a:\n        a = 1\n", template="statement"))


def test_a_statement_of_the_function_is_put_in_again() -> None:
    text = "def f(node):\n    depth = 0\n    while node:\n        node = node.up\n    return depth\n"
    wanted = text.replace("    return", "    node = node.up\n    return")
    assert wanted in texts(text, template="statement")
