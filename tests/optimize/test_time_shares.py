"""Shares of a time budget stand in one table."""

import ast
from pathlib import Path

import sklearn_sgp
from sklearn_sgp.optimize import time_shares

ROOT = Path(sklearn_sgp.__file__).parent
TIMES = {"left", "max_time"}


def _is_time(node):
    """Return whether a node is the time of a budget, or what is left of it."""
    node = node.func if isinstance(node, ast.Call) else node
    return isinstance(node, ast.Attribute) and node.attr in TIMES


def _numbers_of_time(path):
    """List what a file multiplies times of a budget by: its own constants and plain numbers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                own = isinstance(one, ast.Constant) or (
                    isinstance(one, ast.Name) and one.id.isupper()
                )
                if _is_time(other) and own:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_no_other_module_has_shares_of_its_own():
    """Where a time budget is divided, the number comes from the table."""
    assert not [one for path in ROOT.rglob("*.py") for one in _numbers_of_time(path)]


def test_a_share_of_its_own_is_seen(tmp_path, monkeypatch):
    """A file that divides a budget by a number of its own is found."""
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "one.py").write_text(
        "_OWN = 0.5\nx = _OWN * clock.left()\ny = 0.3 * clock.max_time\n"
    )
    assert len(list(_numbers_of_time(tmp_path / "one.py"))) == 2


def test_shares_are_shares():
    """Each is more than nothing and less than all."""
    values = [value for name, value in vars(time_shares).items() if name.isupper()]
    assert len(values) > 30
    assert all(0.0 < value < 1.0 for value in values)
