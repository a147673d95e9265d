"""What a report of an error should tell."""

import sys

import numpy

import sklearn_sgp


def test_versions_of_the_package_and_what_it_needs(capsys):
    """Each on a line, and what is not installed is told."""
    sklearn_sgp.show_versions()
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["sklearn_sgp"] == sklearn_sgp.__version__
    assert lines["numpy"] == numpy.__version__
    assert lines["python"].split()[0] == sys.version.split()[0]


def test_a_missing_package_is_told(capsys, monkeypatch):
    monkeypatch.setattr("sklearn_sgp._show_versions.PACKAGES", ("no-such-package",))
    sklearn_sgp.show_versions()
    assert "no-such-package: not installed" in capsys.readouterr().out
