from __future__ import annotations

from planexec.repair.explain import account, suspected
from planexec.repair.localise import Suspicion
from planexec.repair.search import Ended, SearchResult, Survivor

TEXT = b"class A:\r\n    def f(self):\r\n        return 1\r\n"


def test_suspected_lines_have_text_and_function() -> None:
    many = [Suspicion("a.py", 3, 0.5, "why"), Suspicion("gone.py", 1, 0.9, ""), Suspicion("a.py", 1, 0.1, "")]
    found = suspected(many, {"a.py": TEXT}, limit=2)
    assert [(each.path, each.line, each.text, each.function) for each in found] == [
        ("gone.py", 1, "", ""),
        ("a.py", 3, "return 1", "A.f"),
    ]
    assert found[1].reason == "why"


def result(number: int, disagreeing: int = 0, ended: Ended = "exhausted") -> SearchResult:
    survivor = Survivor("a.py", TEXT, 1, "t", "a", "b", "", 1.0, 1.0)
    return SearchResult([survivor] * number, 12, 20, 3.4, ended, disagreeing, {})


def test_a_search_in_one_sentence() -> None:
    assert account(result(0)) == "12 candidates tried in 3 s (all of them); none passes"
    assert account(result(1, ended="enough")).endswith("(enough to compare); 1 patch passes")
    assert account(result(2, ended="time")).endswith("2 patches pass, all the same in other words")
    assert account(result(2, 1)).endswith("2 patches pass, 1 of them differs from the chosen one")
    assert account(result(3, 2, "candidates")).endswith("3 patches pass, 2 of them differ from the chosen one")
