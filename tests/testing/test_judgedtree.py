"""A layer in which candidates are judged is put back from what it holds itself; through the real sandbox."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from planexec.journal.artifacts import ArtifactStore
from planexec.sandbox.choose import choose
from planexec.sandbox.interface import Command, Layered, Mount
from planexec.testing.bench import Bench
from planexec.testing.interpreter import discover
from planexec.testing.judgedtree import LayeredTree
from planexec.testing.layout import INSIDE, INSIDE_TARGET, TARGET
from planexec.workspace.entries import Change
from planexec.workspace.layers import make_layer

from ..projects import FAULT, FIX, RED, edit
from ..projects import candidate as candidate_of
from .conftest import write

ROOT = Path("/srv/tree")
GREEN = "tests/test_basket.py::test_total"
FILES = {
    "a.py": "a",
    "pkg/b.py": "b",
    "pkg/c.py": "c",
    "gone/d.py": "d",
    "gone/e/f.py": "f",
    "skip/x": "x",
    "old.py": "",
}
SPOIL = """
import json, os, shutil, sys
sys.path.insert(0, sys.argv[1])
from target.tree import Tree

def picture():
    found = {}
    for folder, folders, names in os.walk("."):
        for name in [*folders, *names]:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            text = os.readlink(path) if os.path.islink(path) else os.path.isfile(path) and open(path).read()
            found[path] = [mode, text]
    return found

tree = Tree(os.getcwd(), sys.argv[1] + "/backup", ["skip"], sys.argv[1] + "/touched")
before = picture()
for again in range(2):
    tree.write({"a.py": b"changed", "new/deep/file.py": b"new", "link": b"no link"})
    tree.write({"host.py": b"other", "old.py": b"x"})
    status = os.stat("pkg/b.py")
    open("pkg/b.py", "w").write("B")
    os.utime("pkg/b.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    shutil.rmtree("gone")
    if again:
        os.makedirs("gone/e")
        os.symlink("/", "gone/e/f.py")
    else:
        open("gone", "w").close()
    os.unlink("pkg/c.py")
    os.makedirs("pkg/c.py/inner")
    os.chmod("pkg", 0o500)
    os.chmod("a.py", 0o4755)
    os.mkfifo("pipe")
    open("skip/y", "w").close()
    spoiled = picture()
    tree.restore()
    after = picture()
    skipped = after.pop("./skip/y", None)
    os.unlink("skip/y")
    print(json.dumps([before == after, spoiled != before, skipped is not None]))
print(json.dumps(sorted(before)))
print(json.dumps(len(tree._index)))
"""


def test_a_layer_is_put_back_by_its_process_and_by_the_host(tmp_path: Path) -> None:
    over = write(tmp_path / "over", {**FILES, **{f"many/{number}.py": "" for number in range(50)}})
    (over / "link").symlink_to("a.py")
    (over / "a.py").chmod(0o755)
    store = ArtifactStore(tmp_path / "artifacts")
    first = LayeredTree(make_layer(tmp_path / "layer", over, [Change("old.py", None, None)], store, {"host.py": b"h"}))
    judging = first.second()
    assert isinstance(judging.tree, Layered) and judging.tree.folder != first.tree.folder
    sandbox, interpreter = choose("bubblewrap"), discover(Path("/"), flag=sys.executable)
    mounts = [*interpreter.mounts(), Mount(TARGET, INSIDE_TARGET), judging.tree.mount(ROOT, writable=True)]
    argv = [str(interpreter.executable), "-B", "-c", SPOIL, str(INSIDE)]
    for _ in range(2):
        result = sandbox.run(Command(argv, ROOT, [*mounts, *judging.mounts()]))
        assert result.exit_code == 0, result.stderr.decode()
        *rounds, names, known = [json.loads(line) for line in result.stdout.splitlines()]
        assert rounds == [[True, True, True]] * 2
        assert "./old.py" not in names and "./host.py" in names and "./many/9.py" in names
        assert known < 50  # what was not touched is not even known
        spoil = ["/bin/sh", "-c", "rm -r gone many; echo x > a.py; mkdir gone"]
        assert sandbox.run(Command(spoil, ROOT, [judging.tree.mount(ROOT, writable=True)])).exit_code == 0
        judging.put_back()
    assert sorted(path.name for path in over.iterdir()) == sorted(
        ["link", "many", *{each.split("/")[0] for each in FILES}]
    )


def test_candidates_are_judged_in_a_layer(bench: Bench) -> None:
    pristine = bench.workspace.pristine / "shop/basket.py"
    before = pristine.read_bytes()
    right, wrong = before.replace(FAULT.encode(), FIX.encode()), before.replace(FAULT.encode(), b"return 1")
    with bench.warm((), {"tests/test_more.py": b"def test_more(): open('shop/basket.py', 'w').close()\n"}) as judge:
        assert isinstance(judge.judged, LayeredTree)
        more = "tests/test_more.py::test_more"
        for _ in range(2):
            assert judge.judge({"shop/basket.py": right}, [RED, GREEN, more], seconds=30).outcome == "passed"
            assert judge.judge({"shop/basket.py": wrong}, [RED], seconds=30).outcome != "passed"
        assert judge.judge({}, [RED], seconds=30).outcome == "failed"
        killer = b"import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
        assert judge.judge({"shop/basket.py": killer}, [RED], seconds=30).outcome == "crashed"
        assert judge.restarts == 1
        assert judge.judge({"shop/basket.py": right}, [RED], seconds=30).outcome == "passed"
    assert pristine.read_bytes() == before
    edit(bench, "shop/basket.py", FAULT, FIX)
    with bench.warm(candidate_of(bench).changes) as judge:
        assert judge.judge({}, [RED], seconds=30).outcome == "passed"
        assert judge.judge({"shop/basket.py": before}, [RED], seconds=30).outcome == "failed"
        assert judge.judge({}, [RED], seconds=30).outcome == "passed"
