from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planexec.core import contract as c
from planexec.core.contract_reader import read_contract
from planexec.core.errors import ContractError

FILES = {"hidden/test_a.py": b"def test_a(): pass\n"}

SOUND = """\
goal: Return to the page the sign-in began at
scope:
  allow: [src/**, tests/**]
  deny: src/vendor/**
  note: Nothing outside the repository.
success:
  reproduction:
    text: a regression test shows the wrong redirect
    example:
      actual: callback("/settings")
      expected: /settings
      shows: /
      imports: from app import callback
    runs: 2
  tests: all related tests pass
  external_url:
    verifier: verify_external
    step: guard
  diff_scope: {max_files: 3}
  build: the build works
verifiers:
  verify_external:
    acceptance: hidden/test_a.py
  verify_build:
    command: [make, build]
    exit_code: 0
limits:
  replan_budget: 0
  seconds: 60
context: The entry checks the address.
environment: {python: python3}
forbidden: ["*.lock"]
"""


def load(name: str) -> bytes:
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory", name)
    return FILES[name]


def read(text: str, plugins: tuple[str, ...] = ("verify_plugged",)) -> c.Contract:
    return read_contract(text, "c.yaml", load, plugins)


def refused(text: str) -> ContractError:
    with pytest.raises(ContractError) as caught:
        read(text)
    error = caught.value
    assert error.path == "c.yaml" and error.line >= 1 and error.column >= 1, error.message
    assert error.hint, error.message
    return error


def place_of(text: str, part: str) -> tuple[int, int]:
    """Line and column of the only place at which ``part`` stands."""
    assert text.count(part) == 1, part
    before = text[: text.index(part)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def test_a_sound_contract_is_bound() -> None:
    contract = read(SOUND)
    assert contract.required_checks == {
        "reproduction": "verify_regression_red",
        "tests": "verify_related_tests",
        "external_url": "verify_external",
        "diff_scope": "verify_diff_scope",
        "build": "verify_build",
    }
    assert [check.kind for check in contract.checks.values()] == [
        c.REGRESSION_RED, c.RELATED_TESTS, c.NAMED_TESTS, c.DIFF_SCOPE, c.COMMAND,
    ]  # fmt: skip
    assert contract.scope == c.Scope(("src/**", "tests/**"), ("src/vendor/**",), "Nothing outside the repository.")
    assert contract.scope.label() == "src/**, tests/**"
    assert contract.reproduction is contract.checks["reproduction"]
    assert contract.reproduction.arguments.runs == 2
    assert contract.checks["external_url"].step == "guard"
    assert contract.checks["external_url"].text == "external_url"
    assert contract.checks["diff_scope"].arguments.max_files == 3
    assert contract.checks["build"].arguments.command == ("make", "build")
    assert contract.files == FILES
    assert contract.limits == c.Limits(replan_budget=0, seconds=60)
    assert contract.forbidden == ("*.lock",)
    assert contract.environment.python == "python3"


FIRST_SEED = """\
goal: 修复登录成功后的 returnTo 回跳
scope:
  allow: current_repository
  note: 只改当前仓库内的文件、命令和测试；不碰仓库外文件、外部系统和真实用户数据
success:
  reproduction:
    text: 新增回归测试，稳定复现错误跳转
    example:
      fixtures: [client, login_query]
      fields:
        login_query: {returnTo: /settings}
      setup: |
        response = client.get("/login", query_string=login_query)
      actual: response.location
      expected: /settings
      shows: /
  relative_return: 已校验的相对路径 /settings 在登录后恢复
  external_url:
    text: https://evil.example 这类外部 URL 仍被拒绝
    verifier: verify_external_url_rejected
  tests: 相关测试全部通过
  diff_scope: diff 中没有无关改动
verifiers:
  verify_relative_return:
    tests: ["tests/test_login.py::test_relative"]
  verify_external_url_rejected:
    tests: ["tests/test_login.py::test_external"]
limits:
  replan_budget: 2
"""


def test_the_first_seeds_contract_works_nearly_as_written() -> None:
    contract = read(FIRST_SEED)
    assert contract.required_checks == {
        "reproduction": "verify_regression_red",
        "relative_return": "verify_relative_return",
        "external_url": "verify_external_url_rejected",
        "tests": "verify_related_tests",
        "diff_scope": "verify_diff_scope",
    }
    assert contract.goal == "修复登录成功后的 returnTo 回跳"
    assert contract.scope.label() == "current_repository"
    assert contract.limits.replan_budget == 2
    assert contract.checks["tests"].text == "相关测试全部通过"
    with_tests = FIRST_SEED[: FIRST_SEED.index("    example:")] + "    tests: [tests/test_login.py::test_x]\n"
    with_tests += FIRST_SEED[FIRST_SEED.index("  relative_return:") :]
    assert read(with_tests).checks["reproduction"].arguments.tests == ("tests/test_login.py::test_x",)


def test_the_first_seeds_contract_as_written_is_refused_with_the_way_out() -> None:
    plain = FIRST_SEED.replace("allow: current_repository", "allow: 当前仓库内的文件、命令和测试")
    error = refused(plain)
    assert (error.line, error.column) == place_of(plain, "当前仓库内的文件、命令和测试\n")
    assert "is prose" in error.message and "scope.note" in error.hint
    plain = FIRST_SEED.replace("external_url:\n    text: ", "external_url: ").replace(
        "\n    verifier: verify_external_url_rejected", ""
    )
    error = refused(plain)
    assert "check 'external_url' has no verifier 'verify_external_url'" in error.message
    assert "external_url: {verifier: verify_external_url_rejected}" in error.hint
    plain = FIRST_SEED[: FIRST_SEED.index("    example:")] + FIRST_SEED[FIRST_SEED.index("  relative_return:") :]
    error = refused(plain)
    assert "needs either 'tests' or an 'example'" in error.message and "'actual'" in error.hint


BASE = "goal: g\nsuccess:\n  tests: all pass\n"


@pytest.mark.parametrize(
    ("text", "at", "message", "hint"),
    [
        # unknown keys, at each level
        (BASE + "gaol: x\n", "gaol", "unknown key 'gaol'", "did you mean 'goal'?"),
        (BASE + "zebra: x\n", "zebra", "unknown key 'zebra'", "known keys: goal, success, scope"),
        (BASE + "scope: {alow: src}\n", "alow", "unknown key 'alow' in 'scope'", "did you mean 'allow'?"),
        (BASE + "limits: {replan_buget: 1}\n", "replan_buget", "in 'limits'", "did you mean 'replan_budget'?"),
        (BASE + "environment: {pyhton: x}\n", "pyhton", "in 'environment'", "did you mean 'python'?"),
        (BASE + "  build: {comand: [x]}\n", "comand", "in 'success.build'", "did you mean 'command'?"),
        (BASE + "verifiers: {verify_x: {test: [a]}}\n", "test:", "in 'verifiers.verify_x'", "did you mean 'tests'?"),
        (BASE + "  reproduction: {example: {actual: x, expcted: 1}}\n", "expcted",
         "in 'success.reproduction.example'", "did you mean 'expected'?"),
        (BASE + "  reproduction: {tests: [t], shows: {actul: 1}}\n", "actul",
         "in 'success.reproduction.shows'", "did you mean 'actual'?"),
        # wrong types
        ("- a\n", "- a", "expected `object`, got `array`", "docs/contract.md"),
        ("text\n", "text", "expected `object`, got `str`", "docs/contract.md"),
        ("success: {tests: x}\n", "success", "object missing required field `goal`", "docs"),
        ("goal: g\n", "goal", "object missing required field `success`", "docs"),
        ("goal: [g]\nsuccess: {tests: x}\n", "[g]", "in 'goal'", "docs"),
        ("goal: g\nsuccess: []\n", "[]", "in 'success'", "docs"),
        ("goal: g\nsuccess:\n  tests: 3\n", "3", "in 'success.tests'", "docs"),
        ("goal: g\nsuccess:\n  ok: {verifier: a}\n  tests: {runs: often}\n", "often", "in 'success.tests.runs'",
         "docs"),
        ("goal: g\nsuccess:\n  tests: {tests: [a, 7]}\n", "7", "in 'success.tests.tests.1'", "docs"),
        (BASE + "verifiers:\n  verify_a: {command: x}\n  verify_b: 4\n", "4", "in 'verifiers.verify_b'", "docs"),
        (BASE + "verifiers:\n  verify_a: {visible: 4}\n", "4", "in 'verifiers.verify_a.visible'", "docs"),
        (BASE + "  reproduction:\n    example: {actual: x, fields: {ok: {a: 1}, f: 4}}\n", "4",
         "in 'success.reproduction.example.fields.f'", "docs"),
        (BASE + "  reproduction:\n    example: {actual: x, also: [{f: 4}]}\n", "4",
         "in 'success.reproduction.example.also.0.f'", "docs"),
        (BASE + "  reproduction:\n    example: {expected: 1}\n", "{expected", "missing required field `actual`",
         "docs"),
        (BASE + "scope: {allow: 3}\n", "3", "in 'scope.allow'", "docs"),
        (BASE + "limits: {seconds: soon}\n", "soon", "in 'limits.seconds'", "docs"),
        (BASE + "limits: {corrections: 1.5}\n", "1.5", "in 'limits.corrections'", "docs"),
        (BASE + "forbidden: '*.lock'\n", "'*.lock'", "in 'forbidden'", "docs"),
        # YAML itself
        (BASE + "goal: h\n", "goal: h", "the key 'goal' stands twice", "remove"),
        (BASE + "\tx: y\n", "\tx", "'\\t'", "spaces"),
        # goal and success
        ("goal: ' '\nsuccess: {tests: x}\n", "goal", "'goal' is empty", "one line"),
        ("goal: g\nsuccess: {}\n", "success", "names no check", "at least one"),
        ("goal: g\nsuccess: {diff_scope: small}\n", "success", "no check runs anything", "'tests'"),
        (BASE + "  'two words': x\n", "'two words'", "cannot name a check", "letters"),
        (BASE + "  \"x\\n\": y\n", '"x', "cannot name a check", "letters"),
        # binding
        (BASE + "  zzzzzz: works\n", "zzzzzz", "check 'zzzzzz' has no verifier 'verify_zzzzzz'", "declare it"),
        (BASE + "  build: {verifier: verify_relatd_tests}\n", "verify_relatd_tests", "no verifier",
         "'verify_related_tests'?"),
        (BASE + "  build: works\nverifiers: {verify_build_ok: {command: make}}\n", "build: works",
         "no verifier 'verify_build'", "build: {verifier: verify_build_ok}"),
        (BASE + "verifiers: {verify_x: {command: make}}\n", "verify_x", "no check uses 'verify_x'", "remove it"),
        (BASE + "verifiers: {verify_tests_too: {command: make}}\n", "verify_tests_too", "no check uses",
         "tests: {verifier: verify_tests_too}"),
        (BASE + "  x: y\nverifiers: {verify_x: {}}\n", "verify_x", "'verify_x' is bound to nothing", "'command'"),
        (BASE + "  x: y\nverifiers: {verify_x: {uses: verify_comand}}\n", "verify_comand", "is installed",
         "'verify_command'?"),
        (BASE + "  x: y\nverifiers: {verify_x: {uses: zzz}}\n", "zzz", "no verifier 'zzz' is installed", "known: "),
        (BASE + "verifiers: {verify_related_tests: {uses: verify_command, command: 'true'}}\n", "verify_command",
         "cannot stand for another verifier", "another name"),
        (BASE + "  x: {verifier: verify_v, command: make}\nverifiers: {verify_v: {command: make}}\n",
         "command: make}\nv",
         "'command' belongs in verifiers.verify_v", "one place"),
        (BASE + "  x: {verifier: verify_v, options: {a: 1}}\nverifiers: {verify_v: {command: make}}\n", "options",
         "'options' belongs in verifiers.verify_v", "one place"),
        (BASE + "  again: {verifier: verify_regression_red, tests: [b]}\n  reproduction: {tests: [a]}\n",
         "reproduction",
         "a second reproduction", "'again' is one already"),
        # arguments
        ("goal: g\nsuccess:\n  tests: {runs: 3}\n", "runs", "verify_related_tests takes no 'runs'", "it takes: tests"),
        ("goal: g\nsuccess:\n  tests: {options: {a: 1}}\n", "options", "takes no 'options'", "it takes: tests"),
        (BASE + "  plug: {verifier: verify_plugged, tests: [a]}\n", "tests: [a]", "takes no 'tests'",
         "it takes: options"),
        (BASE + "  x: y\nverifiers: {verify_x: {command: make, max_files: 1}}\n", "max_files",
         "verify_command takes no 'max_files'", "command, exit_code, output"),
        (BASE + "  reproduction: {tests: [a], runs: 0}\n", "0", "'runs' must be at least 1", "usual"),
        (BASE + "  diff_scope: {max_lines: 0}\n", "0", "'max_lines' must be at least 1", "no limit"),
        (BASE + "  diff_scope: {max_files: -2}\n", "-2", "'max_files' must be at least 1", "no limit"),
        ("goal: g\nsuccess:\n  tests: {tests: [ok, -x]}\n", "-x", "is not a test id", "test_y"),
        ("goal: g\nsuccess:\n  tests: {tests: [../t.py]}\n", "../t.py", "is not a test id", "test_y"),
        (BASE + "  x: {verifier: verify_named_tests}\n", "x:", "no tests named", "'acceptance'"),
        (BASE + "  x: {verifier: verify_named_tests, acceptance: ../a.py}\n", "../a.py", "beside the contract",
         "below"),
        (BASE + "  x: {verifier: verify_named_tests, acceptance: [hidden/test_a.py, b.txt]}\n", "b.txt",
         "test module", ""),
        (BASE + "  x: {verifier: verify_named_tests, acceptance: [a/t.py, b/t.py]}\n", "[a/t", "of one name", "rename"),
        (BASE + "  x: {verifier: verify_named_tests, acceptance: gone.py}\n", "gone.py", "cannot read 'gone.py'",
         "beside"),
        (BASE + "  x: y\nverifiers:\n  verify_x: {acceptance: [hidden/test_a.py, gone.py]}\n", "gone.py",
         "cannot read 'gone.py': No such file", "beside"),
        (BASE + "  x: {verifier: verify_named_tests, tests: [t.py], at: tests/test_q.py}\n", "tests/test_q.py",
         "'at' says", ""),
        (BASE + "  x: {verifier: verify_named_tests, acceptance: hidden/test_a.py, at: src/app.py}\n", "src/app.py",
         "not a test file", "tests/test_x.py"),
        (BASE + "  x: {verifier: verify_named_tests, acceptance: hidden/test_a.py, at: /tmp/test_a.py}\n", "/tmp/",
         "leaves the repository", "root"),
        (BASE + "  x: {verifier: verify_command}\n", "x:", "no command given", "a list of words"),
        (BASE + "  x: {verifier: verify_command, command: ' '}\n", "' '", "no command given", "a list of words"),
        (BASE + "  x: {verifier: verify_command, command: echo 'a}\n", "echo", "cannot be split into words", "list"),
        (BASE + "  x: {verifier: verify_command, command: a, exit_code: -9}\n", "-9", "between 0 and 255", "0"),
        (BASE + "  x: {verifier: verify_command, command: a, output: '('}\n", "'('", "not a regular expression",
         "escape"),
        (BASE + "  x: {verifier: verify_command, command: a, step: a b}\n", "a b", "cannot name a step", "letters"),
        # limits
        (BASE + "limits: {replan_budget: -1}\n", "replan_budget", "'replan_budget' is -1", "positive"),
        (BASE + "limits: {seconds: 0}\n", "seconds", "'seconds' is 0", "positive"),
        (BASE + "limits: {repair_candidates: 0}\n", "repair_candidates", "is 0", "positive"),
        (BASE + "limits: {seconds: .inf}\n", ".inf", "not a finite number", "quotes"),
        # scope
        (BASE + "scope: {allow: [src/**, ../other/**]}\n", "../other", "leaves the repository", "relative"),
        (BASE + "scope: {allow: /etc/**}\n", "/etc", "leaves the repository", "relative"),
        (BASE + "scope: {deny: ~/x}\n", "~/x", "leaves the repository", "relative"),
        (BASE + "scope: {deny: ''}\n", "''", "an empty glob", "leave it out"),
        (BASE + "scope: {deny: '!'}\n", "'!'", "is not a glob", "look like"),
        (BASE + "scope: {deny: '#tmp'}\n", "'#tmp'", "is a comment", "\\#tmp"),
        (BASE + "scope: {allow: only the tests}\n", "only", "is prose", "scope.note"),
        (BASE + "scope: {allow: Only files of this repository.}\n", "Only", "is prose", "scope.note"),
        (BASE + "scope: {allow: 仓库内的文件。}\n", "仓", "is prose", "scope.note"),
        (BASE + "scope: {allow: []}\n", "allow", "'allow' is empty", "leave it out"),
        (BASE + "scope: {allow: [current_repository, src/**]}\n", "allow", "stands beside globs", "alone"),
        (BASE + "scope: {deny: current_repository}\n", "deny", "denies everything", "leave 'deny' out"),
        (BASE + "forbidden: ['*.lock', ../x]\n", "../x", "leaves the repository", "relative"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(text: str, at: str, message: str, hint: str) -> None:
    error = refused(text)
    assert message in error.message
    assert hint in error.hint
    assert (error.line, error.column) == place_of(text, at)


def example(**lines: str) -> str:
    body = {"actual": "f(1)", "expected": "2"} | lines
    return BASE + "  reproduction:\n    example:\n" + "".join(
        f"      {name}: {value}\n" for name, value in body.items() if value
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "at", "message"),
    [
        ({"expected": ""}, "example:", "needs 'expected' or 'expected_code'"),
        ({"expected_code": "g(1)"}, "example:", "needs 'expected' or 'expected_code'"),
        ({"actual": "f(", "expected": "3"}, "f(", "'actual' is not an expression: '(' was never closed"),
        ({"actual": "x = 1"}, "x = 1", "'actual' is not an expression"),
        ({"expected": "", "expected_code": "g("}, "g(", "'expected_code' is not an expression"),
        ({"expected": "{raises: 'not a ('}"}, "'not a ('", "'raises' is not an expression"),
        ({"raises": "Value Error"}, "Value Error", "'raises' is not an expression"),
        ({"raises": "ValueError", "shows": "7"}, "ValueError", "cannot both show a value and raise"),
        ({"setup": "[a = 1, 'b = = 2']"}, "[a", "'setup' is not Python"),
        ({"imports": "import"}, "import\n", "'imports' is not Python"),
        ({"setup": "x = await f()"}, "example:", "the example makes no test: 'await' outside async function"),
        ({"fixtures": "['no name']"}, "'no", "'no name' cannot name a fixture"),
        ({"fixtures": "[class]"}, "class]", "'class' cannot name a fixture"),
        ({"fields": "{a-b: {x: 1}}"}, "a-b", "'a-b' cannot name a fixture"),
        ({"fields": "{request: {x: 1}}"}, "example:", "duplicate argument 'request'"),
        ({"fields": "{q: {x: 1}}", "also": "[{r: {x: 2}}]"}, "r: {x: 2}", "'r' has no 'fields'"),
        ({"fields": "{q: {size: 1}}", "also": "[{q: {siz: 7}}]"}, "7", "'siz' is no field of 'q'"),
        ({"file": "../test_x.py"}, "../test_x.py", "leaves the repository"),
        ({"file": "src/app.py"}, "src/app.py", "is not a test file"),
        ({"file": "tests/notes.txt"}, "tests/notes.txt", "is not a test file"),
        ({"name": "broken"}, "broken", "cannot name a test"),
        ({"name": "test a"}, "test a", "cannot name a test"),
    ],
)  # fmt: skip
def test_errors_within_an_example(lines: dict[str, str], at: str, message: str) -> None:
    text = example(**lines)
    error = refused(text)
    assert message in error.message
    assert (error.line, error.column) == place_of(text, at)


def test_shows_stands_in_the_example() -> None:
    error = refused(example() + "    shows: {actual: 3}\n")
    assert "'shows' stands twice" in error.message and "within the example" in error.hint


def test_what_an_example_may_say() -> None:
    sound = example(
        expected="{raises: errors.Refused}", imports="[from app import errors, from app import f]",
        fixtures="[client]", fields="{query: {to: /x}}", also="[{query: {to: /y}}]", file="checks/test_new.py",
        name="test_refused", setup="['value = f(1)']", shows="/",
    )  # fmt: skip
    bound = read(sound).checks["reproduction"].arguments.example
    assert bound is not None and bound.name == "test_refused" and bound.expected == {"raises": "errors.Refused"}
    with_code = read(example(expected="", expected_code="'[1, 2]'")).reproduction
    assert with_code is not None and with_code.arguments.example is not None
    assert with_code.arguments.example.expected_source() == "[1, 2]"


def test_deeply_nested_source_is_an_error_and_no_crash() -> None:
    assert "'actual' is not an expression" in refused(example(actual="(" * 5000 + ")" * 5000)).message
    assert "'actual' is not an expression" in refused(example(actual="'" + "-" * 100_000 + "1'")).message


def test_a_built_in_verifier_takes_its_arguments_under_verifiers_too() -> None:
    contract = read(
        "goal: g\nsuccess: {reproduction: it is red, tests: pass}\n"
        "verifiers: {verify_regression_red: {example: {actual: f(), expected: 1}}}\n"
    )
    assert contract.checks["reproduction"].kind == c.REGRESSION_RED
    contract = read("goal: g\nsuccess: {reproduction: red}\nverifiers: {verify_regression_red: {tests: [t.py]}}\n")
    assert contract.checks["reproduction"].kind == c.REGRESSION_RED
    error = refused("goal: g\nsuccess:\n  tests: pass\nverifiers:\n  verify_related_tests: {runs: 5}\n")
    assert (error.line, "takes no 'runs'" in error.message) == (5, True)


def test_plug_ins_are_bound_by_name_or_by_uses() -> None:
    contract = read(
        BASE + "  plugged: as installed\n  other: {verifier: verify_own}\n"
        "verifiers:\n  verify_own: {uses: verify_plugged, options: {size: 3}}\n"
    )
    assert contract.checks["plugged"].kind == contract.checks["other"].kind == "verify_plugged"
    assert contract.checks["other"].options == {"size": 3}
    assert contract.required_checks["other"] == "verify_own"
    named = read(BASE + "  x: {verifier: verify_v}\nverifiers: {verify_v: {uses: verify_command, command: make}}\n")
    assert named.checks["x"].kind == c.COMMAND


def test_without_a_loader_files_are_left_alone() -> None:
    text = BASE + "  x: {verifier: verify_named_tests, acceptance: gone.py}\n"
    assert read_contract(text, "c.yaml").files == {}


@pytest.mark.parametrize(
    "glob", ["src/**", "*.py", "docs/a b.md", "My Notes/**", "文档/**", "[ab].py", "!x", "a.b/", "LICENSE"]
)
def test_globs_that_are_accepted(glob: str) -> None:
    assert read(BASE + f"scope:\n  allow: ['{glob}']\n").scope.allow == (glob,)


def test_the_digest_is_of_the_content_and_not_of_the_place() -> None:
    contract = read(SOUND)
    assert read_contract(SOUND, "elsewhere.yaml", load).digest == contract.digest
    reordered = SOUND.replace("context: The entry checks the address.\n", "")
    reordered = "context: The entry checks the address.\n" + reordered
    assert read(reordered).digest == contract.digest
    for old, new in [
        ("runs: 2", "runs: 4"),
        ("src/vendor", "src/other"),
        ("shows: /", "shows: /x"),
        ("goal: Ret", "goal: ret"),
    ]:
        assert read(SOUND.replace(old, new, 1)).digest != contract.digest


def test_another_acceptance_file_is_another_contract() -> None:
    other = read_contract(SOUND, "c.yaml", lambda name: b"def test_a(): assert True\n")
    assert other.digest != read(SOUND).digest


LINES = SOUND.splitlines()


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.sampled_from(LINES), max_size=12),
    st.integers(0, len(LINES) - 1),
    st.text(alphabet="a:[]{}'\"#-&*! \n/.0", max_size=8),
)
def test_a_damaged_contract_is_read_or_refused_with_a_place(lines: list[str], at: int, noise: str) -> None:
    for text in ("\n".join(lines), "\n".join([*LINES[:at], LINES[at] + noise, *LINES[at + 1 :]])):
        try:
            read(text)
        except ContractError as error:
            assert error.line >= 1 and error.column >= 1 and error.hint and error.path == "c.yaml"
