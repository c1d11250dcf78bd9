"""A release: sdist and wheel of `vernal` and of its checker, built, checked, and installed in empty environments.

    make release                                  build into dist/ and try everything; nothing is written or published
    make release ARGS="--write 0.2.0"             first write the version and today's date into the files that say it
    make release ARGS="--python 3.11 --floors"    one interpreter, and the oldest dependencies that are allowed

Every interpreter from 3.11 on that is at hand installs the wheel into an environment of its own, writes an example,
checks it, and is asked how long `import vernal` takes; a certificate is accepted by the checker in an environment that
has nothing else. VERNAL_URL is the address that metadata names, where it is set. Publishing stays with people:
`twine upload dist/*`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PROJECTS = [folder for folder in (ROOT, ROOT / "checker") if (folder / "pyproject.toml").is_file()]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
MAX_WHEEL_MB = 5.0
MAX_IMPORT_SECONDS = 1.0  # of processor time, the interpreter's own start included
PLACES = {
    "pyproject.toml": r'(?m)^version = "(.+)"$',
    "src/vernal/__init__.py": r'(?m)^__version__ = "(.+)"$',
    "CITATION.cff": r"(?m)^version: (.+)$",
    "packaging/conda/recipe.yaml": r"(?m)^  version: (.+)$",
    "checker/pyproject.toml": r'(?m)^version = "(.+)"$',
}  # where the version of Vernal is said; its checker has the same


def main(arguments: Sequence[str] | None = None) -> int:
    """Do all of it; what is not as it should be ends it with a message."""
    parser = argparse.ArgumentParser(description="Build, check and try a release.")
    parser.add_argument("--write", metavar="VERSION", help="write this version, and today's date into the changelog")
    parser.add_argument("--python", action="append", metavar="X.Y", help="only these interpreters")
    parser.add_argument("--floors", action="store_true", help="also with the oldest dependencies that are allowed")
    options = parser.parse_args(arguments)
    if options.write:
        write_version(ROOT, options.write, date.today())
    check_version(ROOT)
    built = build()
    say(f"built {', '.join(file.name for file in built)}")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, built))
    check_sizes(built)
    wheels = [file for file in built if file.suffix == ".whl"]
    tried = [try_interpreter(found, wheels) for found in interpreters(options.python or VERSIONS)]
    if options.floors:
        tried.append(try_interpreter(sys.executable, wheels, floors=True))
    if not tried:
        raise SystemExit("no interpreter to try it with is at hand")
    say(f"tried with {', '.join(tried)}; never tried: Windows, macOS. To publish: twine upload dist/*")
    return 0


def say(text: str) -> None:
    print(f"release: {text}", flush=True)


def run(*words: str, cwd: Path | None = None) -> str:
    """What a command prints; one that fails ends the release."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _environment() -> dict[str, str]:
    """Nothing of this checkout: what is tried is what was built."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


# The version ----------------------------------------------------------------------------------------------------------


def versions(root: Path) -> dict[str, str]:
    """The version of Vernal, wherever it is said."""
    found = {}
    for place, pattern in PLACES.items():
        said = re.search(pattern, (root / place).read_text(encoding="utf-8"))
        found[place] = said[1] if said else "nothing"
    return found


def check_version(root: Path) -> None:
    """All places say the same, and the changelog has a heading for it."""
    said = versions(root)
    if len(set(said.values())) != 1:
        raise SystemExit(f"versions differ: {said}")
    (version,) = set(said.values())
    if not re.search(rf"^## {re.escape(version)}, ", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        raise SystemExit(f"CHANGELOG.md has no heading for {version}")


def write_version(root: Path, version: str, day: date) -> None:
    """Put a version into every place that says it, and the day into the changelog."""
    for place, pattern in PLACES.items():
        file = root / place
        text = file.read_text(encoding="utf-8")
        found = re.search(pattern, text)
        if found is None:
            raise SystemExit(f"{place} says no version")
        file.write_text(text[: found.start(1)] + version + text[found.end(1) :], encoding="utf-8")
    changelog = root / "CHANGELOG.md"
    text, count = re.subn(
        r"(?m)^## \S+, unreleased$", f"## {version}, {day.isoformat()}", changelog.read_text(encoding="utf-8"), count=1
    )
    if not count:
        raise SystemExit("CHANGELOG.md has no heading that says unreleased")
    changelog.write_text(text, encoding="utf-8")


# Building -------------------------------------------------------------------------------------------------------------


def build() -> list[Path]:
    """The archives of every project, in dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    for project in PROJECTS:
        run(sys.executable, "-m", "build", "--outdir", str(DIST), str(project))
    return sorted(DIST.iterdir())


def check_sizes(built: Sequence[Path]) -> None:
    """Wheels are small: weights of examples are the most of them."""
    for file in built:
        size = file.stat().st_size / 1e6
        say(f"{file.name}: {size:.2f} MB")
        if file.suffix == ".whl" and size > MAX_WHEEL_MB:
            raise SystemExit(f"{file.name} is larger than {MAX_WHEEL_MB} MB")


# Trying ---------------------------------------------------------------------------------------------------------------


def interpreters(wanted: Sequence[str]) -> Iterator[str]:
    """The interpreters of these versions that are at hand: the first of each that starts."""
    for version in wanted:
        found = next((name for name in map(str, candidates(version)) if _starts(name)), None)
        if found is not None:
            yield found
        else:
            say(f"python{version} is not at hand")


def candidates(version: str) -> Iterator[Path]:
    """Where an interpreter may be: on the PATH, where one of pyenv's need not start, and among pyenv's own."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if found := shutil.which(f"python{version}", path=folder):
            yield Path(found)
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(root.glob(f"versions/{version}.*/bin/python{version}"))


def _starts(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def try_interpreter(python: str, wheels: Sequence[Path], *, floors: bool = False) -> str:
    """Install the wheels into an empty environment, and use them as a newcomer does."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        inside = empty_environment(python, folder / "env")
        limits = ["-c", str(_floors(folder))] if floors else []
        run(inside, "-m", "pip", "install", "-q", "--prefer-binary", *limits, *map(str, wheels))
        run(inside, "-m", "pip", "check")
        version = run(inside, "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])))").strip()
        tried = f"Python {version}{' with floors' if floors else ''}"
        say(f"{tried}: {used(inside, folder)}")
        (checker,) = (wheel for wheel in wheels if wheel.name.startswith("vernal_check"))
        say(f"{tried}: {certified(inside, empty_environment(python, folder / 'alone'), checker, folder)}")
    return tried


def empty_environment(python: str, folder: Path) -> str:
    """The interpreter of a new environment."""
    run(python, "-m", "venv", str(folder))
    return command(folder, "python")


def command(environment: Path, name: str) -> str:
    """A command of an environment."""
    return str(environment / ("Scripts" if os.name == "nt" else "bin") / name)


def certified(python: str, alone: str, checker: Path, folder: Path) -> str:
    """A certificate is written, and accepted by the checker where nothing else is installed."""
    words = ["examples/thermostat/thermostat.toml", "--property", "warm", "--certificate", "warm.certificate"]
    run(command(Path(python).parents[1], "vernal"), "check", *words, cwd=folder)
    run(alone, "-m", "pip", "install", "-q", "--no-index", "--no-deps", str(checker))
    said = run(command(Path(alone).parents[1], "vernal-check"), "warm.certificate", cwd=folder)
    if not said.startswith("accepted"):
        raise SystemExit(f"the checker of {alone} says {said}")
    return said.splitlines()[0]


def _floors(folder: Path) -> Path:
    file = folder / "lowest.txt"
    file.write_text(run(sys.executable, str(ROOT / "scripts" / "lowest.py")), encoding="utf-8")
    return file


def used(python: str, folder: Path) -> str:
    """An example is written and checked; how long an import takes."""
    vernal = command(Path(python).parents[1], "vernal")
    run(vernal, "example", "all", cwd=folder)
    said = run(vernal, "check", "examples/vcas/vcas.toml", "--property", "safe", cwd=folder)
    if not said.startswith("holds"):
        raise SystemExit(f"the example of {python} says {said}")
    run(python, "-c", "import vernal; [getattr(vernal, name) for name in vernal.__all__]", cwd=folder)
    timed = "import time; import vernal; print(time.process_time())"
    run(python, "-c", timed, cwd=folder)  # writes bytecode
    seconds = float(run(python, "-c", timed, cwd=folder))
    if seconds > MAX_IMPORT_SECONDS:
        raise SystemExit(f"import vernal takes {seconds:.2f} s of the processor, more than {MAX_IMPORT_SECONDS}")
    return f"{said.splitlines()[0]}; import takes {seconds:.2f} s of the processor"


if __name__ == "__main__":
    sys.exit(main())
