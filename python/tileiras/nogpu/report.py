"""What ran, for the report at the end."""
from __future__ import annotations

import collections
import dataclasses
import threading

from tileiras.nogpu.config import Config


@dataclasses.dataclass
class Counters:
    """Of one kernel."""
    compiled: int = 0
    launches: int = 0
    blocks: int = 0
    operations: int = 0
    instructions: int = 0
    seconds: float = 0.0
    faults: int = 0
    notes: dict[str, int] = dataclasses.field(default_factory=dict)


class Report:
    """Counts launches by kernel; safe for threads."""

    def __init__(self) -> None:
        self.kernels: dict[str, Counters] = collections.defaultdict(Counters)
        self._lock = threading.Lock()

    def launched(self, kernel: str, counters: dict, fault: bool) -> None:
        with self._lock:
            c = self.kernels[kernel]
            c.launches += 1
            c.blocks += counters["blocks"]
            c.operations += counters["operations"]
            c.instructions += counters["instructions"]
            c.seconds += counters["seconds"]
            c.faults += fault
            for note in counters["notes"]:
                c.notes[note] = c.notes.get(note, 0) + 1

    def lines(self, config: Config, most: int = 20) -> list[str]:
        """The report as text: a line in all, then one a kernel, those that took longest first."""
        with self._lock:
            kernels = sorted(self.kernels.items(), key=lambda k: -k[1].seconds)
        total = [sum(getattr(c, f) for _, c in kernels) for f in ("launches", "blocks", "seconds", "faults")]
        out = [f"tileiras: {config.describe()}: {count(len(kernels), 'kernel')}, {count(total[0], 'launch')}, {count(total[1], 'tile block')}, {total[2]:.2f} s, {count(total[3], 'fault')}"]
        for name, c in kernels[:most]:
            work = count(c.instructions, "warp instruction") if c.instructions else count(c.operations, "operation")
            out.append(f"  {name}: {count(c.launches, 'launch')}, {count(c.blocks, 'tile block')}, {work}, {c.seconds:.2f} s" + (f", {count(c.faults, 'fault')}" if c.faults else ""))
            out.extend(f"    note, {count(n, 'time')}: {text}" for text, n in c.notes.items())
        if len(kernels) > most:
            out.append(f"  and {len(kernels) - most} more")
        return out


def count(n: int, word: str) -> str:
    """A number with its word: "1 launch", "2 launches"."""
    return f"{n} {word}" if n == 1 else f"{n} {word}{'es' if word.endswith('h') else 's'}"


report = Report()
