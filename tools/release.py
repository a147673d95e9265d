"""Make a release, or find out what is in its way.

    python tools/release.py --dry-run           checks, builds, changes nothing
    python tools/release.py 0.2.0               the same, then writes the version, commits and tags

Nothing is uploaded: the workflow `wheels` builds what a tag stands for and publishes it. Needs
``pip install -e ".[release]"``. Every check is made, and all that failed is told at the end.
"""

import argparse
import datetime
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION_FILE = "sklearn_sgp/_version.py"
# What git tracks and the source distribution leaves out.
NOT_IN_SDIST = (".ci/", ".github/", ".gitignore", ".pre-commit-config.yaml")
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def run(*command, **options):
    """Standard output of a command; its whole output in the error if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def version_of_package():
    return re.search(r'^__version__ = "([^"]+)"$', read(VERSION_FILE), re.MULTILINE).group(1)


def version_of_citation():
    return re.search(r"^version: (\S+)$", read("CITATION.cff"), re.MULTILINE).group(1)


def unreleased(changelog):
    """What is under "Unreleased", which must have entries in sections of Keep a Changelog."""
    parts = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    if not parts or not parts[0].startswith("[Unreleased]\n"):
        raise ValueError('The first section of CHANGELOG.md must be "## [Unreleased]".')
    for part in parts[1:]:
        heading = part.splitlines()[0]
        if not re.fullmatch(r"\[\d+\.\d+\.\d+((a|b|rc)\d+)?\] - \d{4}-\d{2}-\d{2}", heading):
            raise ValueError(f'Sections must be like "[0.1.0] - 2026-01-31". Got: {heading!r}.')
    sections = re.findall(r"^### (.+)$", changelog, re.MULTILINE)
    strange = sorted(set(sections) - set(SECTIONS))
    if strange:
        raise ValueError(f"Headings must be of {', '.join(SECTIONS)}. Got: {', '.join(strange)}.")
    return parts[0].partition("\n")[2].strip()


def released(changelog, version, day):
    """The changelog of a release, with an empty section for what comes next."""
    heading = f"## [Unreleased]\n\n## [{version}] - {day}\n"
    return changelog.replace("## [Unreleased]\n", heading, 1)


# Checks ------------------------------------------------------------------------------------------


def check_versions():
    package, citation = version_of_package(), version_of_citation()
    if package != citation:
        raise ValueError(f"CITATION.cff must have version {package}. Got {citation}.")
    return f"{package}, in CITATION.cff too"


def check_changelog():
    entries = len(re.findall(r"^- ", unreleased(read("CHANGELOG.md")), re.MULTILINE))
    if not entries:
        raise ValueError('CHANGELOG.md must have entries under "Unreleased". Got none.')
    return f"{entries} entries to be released"


def check_citation():
    return run("cffconvert", "--validate", "-i", "CITATION.cff").strip()


def check_tree(version):
    """Nothing uncommitted, and no such tag."""
    changed = run("git", "status", "--porcelain").splitlines()
    if changed:
        raise ValueError(f"Commit first: {len(changed)} files differ, {changed[0]} among them.")
    if run("git", "tag", "--list", f"v{version}").strip():
        raise ValueError(f"The tag v{version} exists: raise the version.")
    return f"committed, and no tag v{version}"


def build(folder):
    """Source distribution and, from it, a wheel, each in an environment of its own."""
    run(sys.executable, "-m", "build", "--outdir", folder, ".")
    sizes = [f"{path.name}, {path.stat().st_size / 2**20:.1f} MB" for path in made(folder)]
    return "; ".join(sizes)


def made(folder, pattern="*"):
    return sorted(Path(folder).glob(pattern))


def check_sdist(folder):
    """All that git tracks and nothing else, but for the metadata."""
    (path,) = made(folder, "*.tar.gz")
    with tarfile.open(path) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
        inside -= {member.name.partition("/")[2] for member in archive if member.isdir()}
    inside = {name for name in inside if name != "PKG-INFO" and ".egg-info/" not in name}
    tracked = set(run("git", "ls-files", "-z").strip("\0").split("\0"))
    tracked = {name for name in tracked if not name.startswith(NOT_IN_SDIST)}
    if tracked != inside:
        raise ValueError(
            f"Missing: {sorted(tracked - inside)[:9]}. Too much: {sorted(inside - tracked)[:9]}. "
            "See MANIFEST.in."
        )
    return f"the {len(inside)} files that git tracks"


def check_metadata(folder):
    run("twine", "check", "--strict", *made(folder))
    return "twine check passed, README included"


def check_wheel(folder):
    return run("check-wheel-contents", *made(folder, "*.whl")).strip()


def check_abi(folder):
    wheels = made(folder, "*-abi3-*.whl")
    if not wheels:
        return "no stable ABI without a GIL: nothing to check"
    run("abi3audit", "--strict", *wheels)
    return "only symbols of the stable ABI"


def check_platform(folder):
    """What the wheel needs of a Linux system; the one that is published is built in an old one."""
    if sys.platform != "linux":
        return "nothing to check on this system"
    run("auditwheel", "repair", "--wheel-dir", Path(folder) / "repaired", *made(folder, "*.whl"))
    (path,) = made(Path(folder) / "repaired")
    return f"auditwheel calls the wheel of this machine {path.stem.rpartition('-')[2]}"


def checked(version, folder):
    """Make every check; return whether all passed."""
    steps = [
        ("version", check_versions),
        ("changelog", check_changelog),
        ("citation", check_citation),
        ("git", lambda: check_tree(version)),
        ("build", lambda: build(folder)),
        ("sdist", lambda: check_sdist(folder)),
        ("metadata", lambda: check_metadata(folder)),
        ("wheel", lambda: check_wheel(folder)),
        ("stable ABI", lambda: check_abi(folder)),
        ("platform", lambda: check_platform(folder)),
    ]
    failed = []
    for name, step in steps:
        try:
            print(f"{name:>10}: {step()}", flush=True)
        except (ValueError, RuntimeError, OSError) as error:
            failed.append(name)
            print(f"{name:>10}: FAILED. {error}", flush=True)
    if failed:
        print(f"\nIn the way of version {version}: {', '.join(failed)}.")
    return not failed


# The release -------------------------------------------------------------------------------------


def write(path, text):
    (ROOT / path).write_text(text, encoding="utf-8")


def release(version):
    """Write version and date, commit, tag."""
    day, before = datetime.date.today().isoformat(), version_of_package()
    write(VERSION_FILE, read(VERSION_FILE).replace(f'"{before}"', f'"{version}"', 1))
    citation = re.sub(r"^date-released: .*\n", "", read("CITATION.cff"), flags=re.MULTILINE)
    line = f"version: {version}\ndate-released: {day}"
    write("CITATION.cff", re.sub(r"^version: .*$", line, citation, count=1, flags=re.MULTILINE))
    write("CHANGELOG.md", released(read("CHANGELOG.md"), version, day))
    run("git", "commit", "--all", "--message", f"Release {version}")
    run("git", "tag", "--annotate", f"v{version}", "--message", f"Release {version}")
    print(f"\nCommitted and tagged. To publish: git push origin HEAD v{version}")


def main():
    parser = argparse.ArgumentParser(description="Make a release, or say what is in its way.")
    parser.add_argument("version", nargs="?", help="that of the package if left out")
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    parser.add_argument("--output", help="folder for sdist and wheel; a temporary one if left out")
    options = parser.parse_args()
    version = options.version or version_of_package()
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        parser.error(f"A version must be like 0.2.0 or 0.2.0rc1. Got {version!r}.")
    with tempfile.TemporaryDirectory() as temporary:
        passed = checked(version, Path(options.output or temporary).resolve())
    if not passed:
        sys.exit(1)
    if options.dry_run:
        print(f"\nNothing is in the way of version {version}; nothing was changed.")
    else:
        release(version)


if __name__ == "__main__":
    main()
