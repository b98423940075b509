"""Cases in processes of their own, so that a death is counted and not suffered."""

from __future__ import annotations

import os
import random
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import depmax

ROOT = Path(__file__).parents[2]
#: Seconds of CPU time of one case that count as hanging, whatever else the machine does, and memory
#: of one case that counts as too much.
HANG, MEMORY = 20.0, 1 << 30
#: Seconds without an answer after which a process waits for something that does not come.
SILENCE = 1800.0
#: Cases after which a long run tells what it has found.
PART = 1000
#: What a reader may do with a damaged file: refuse it in words, or read what is there.
GOOD = ("clean", "accepted")
OUTCOMES = (*GOOD, "uncaught", "died", "hang", "memory")


@dataclass
class Tally:
    """Outcomes of a target's cases, and which of them were bad."""

    target: str
    counts: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, case: int, outcome: str, detail: str = "") -> None:
        """Count an outcome."""
        self.counts[outcome] += 1
        if outcome not in GOOD:
            self.bad.append((case, outcome, detail))

    def __str__(self) -> str:
        counts = "  ".join(f"{outcome} {self.counts[outcome]:>6}" for outcome in OUTCOMES)
        return f"{self.target:<14}{counts}"


def run(
    target: str, first: int, count: int, tell: Callable[[int, int, Tally], None] | None = None
) -> Tally:
    """Cases of a target from a number on; of several, named with commas, in turn.

    ``tell(first, end, tally)`` gets the outcomes of each thousand as soon as they are known.
    """
    whole, part = Tally(target), Tally(target)
    case, end, begun = first, first + count, first
    while case < end:
        for done, outcome, detail in _answers(target, case, end):
            whole.add(done, outcome, detail)
            part.add(done, outcome, detail)
            case = done + 1
            if tell and (case % PART == 0 or case == end):
                tell(begun, case, part)
                begun, part = case, Tally(target)
    return whole


def environment() -> dict[str, str]:
    """That of a process which imports the same depmax, and these targets."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(depmax.__file__).parents[1]), str(ROOT)]),
        "RUST_BACKTRACE": "0",
        "POLARS_MAX_THREADS": "1",  # threads that wait for tiny tables take half of the time
    }


def _answers(target: str, first: int, end: int) -> Iterator[tuple[int, str, str]]:
    """What a process says of its cases; where it ends early, that of the case in hand."""
    command = [sys.executable, "-m", "tests.fuzz.worker", target, str(first), str(end)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(), cwd=ROOT
    )
    assert process.stdout is not None
    case = first
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            rest = b""
            while case < end:
                if not selector.select(SILENCE):
                    yield case, "hang", "waits"
                    return
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    code = process.wait()
                    yield case, "hang" if code == -signal.SIGPROF else "died", f"exit code {code}"
                    return
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    number, outcome, detail = line.decode().split("\t", 2)
                    yield int(number), outcome, detail
                    case = int(number) + 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def work(targets: str, first: int, end: int) -> None:
    """What a process does: one line per case, of several targets in turn."""
    from tests.fuzz.targets import TARGETS

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is not an answer
    names = targets.split(",")
    chosen = [TARGETS[name]() for name in names]
    virtual = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (virtual + 3 * MEMORY,) * 2)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for case in range(first, end):
            number, place = divmod(case, len(names))
            target = chosen[place]
            path = Path(folder) / f"case{target.suffix}"
            path.write_bytes(target.content(random.Random(f"{names[place]} {number}")))
            before = _peak()
            # of all threads; nobody handles its signal, so that it ends the process
            signal.setitimer(signal.ITIMER_PROF, HANG)
            outcome, detail = _judged(target, path)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if _peak() - before > MEMORY:
                outcome = "memory"
            if outcome not in GOOD and len(names) > 1:
                detail = f"{names[place]} --case {number}: {detail}"
            print(case, outcome, detail, sep="\t", file=answers, flush=True)


def _judged(chosen: object, path: Path) -> tuple[str, str]:
    try:
        chosen.read(path)
    except chosen.refusals as refusal:
        named = path.name in str(refusal)
        return (
            ("clean", "") if named else ("uncaught", f"does not name the file: {refusal!r}"[:300])
        )
    except MemoryError as error:
        return "memory", repr(error)[:300]
    except BaseException as error:  # a panic of polars is not an Exception
        return "uncaught", " ".join(repr(error).split())[:300]
    return "accepted", ""


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
