"""Totals of a run of a suite, and a reason for each failure: explain.py SUITE ENGINE REPORT.xml EXPLAINED.toml

Ends with 1 when a failure has no reason, or when fewer than 95 % of the tests pass that need no feature which nothing without a GPU has.
"""
from __future__ import annotations

import collections
import re
import sys
import xml.etree.ElementTree as xml

try:
    import tomllib
except ImportError:  # Python 3.10
    import pip._vendor.tomli as tomllib  # type: ignore[no-redef]


def main(suite: str, engine: str, report: str, table: str) -> int:
    with open(table, "rb") as f:
        rows = [r for r in tomllib.load(f)["reason"] if r.get("suite", suite) == suite and engine in r.get("engines", engine)]
    passed = skipped = 0
    reasons: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    unexplained: list[str] = []
    for case in xml.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        if case.find("skipped") is not None:
            skipped += 1
        elif bad is None:
            passed += 1
        else:
            text = f"{bad.get('message')}\n{bad.text}"
            row = next((r for r in rows if re.search(r.get("test", ""), name) and re.search(r.get("text", ""), text)), None)
            if row is None:
                unexplained.append(f"{name}: {(bad.get('message') or '').splitlines()[0][:160] if bad.get('message') else ''}")
            else:
                reasons[row["whose"], row["why"]].append(name)
    host = sum(len(v) for (whose, _), v in reasons.items() if whose == "host")
    failed = sum(len(v) for v in reasons.values()) + len(unexplained)
    able = passed + failed - host
    share = passed / able if able else 0.0
    print(f"{passed} passed, {failed} failed, {skipped} skipped by the suite; of {able} that need no unsupported host feature {100 * share:.1f} % pass")
    for (whose, why), names in sorted(reasons.items(), key=lambda r: -len(r[1])):
        print(f"  {len(names):4d}  [{whose}] {why}; {names[0]}")
    for line in unexplained:
        print("  NOT EXPLAINED:", line)
    return 1 if unexplained or share < 0.95 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
