"""Known vulnerabilities of the pinned libraries, by pip-audit: ``make audit``.

pip-audit passes over libraries that its database does not answer for, and then ends with success.
Here that is a failure of its own: what was not looked at is not called safe.

Exit codes: 0 all libraries were looked up and none is known to be vulnerable, 1 some are, 2 not all
could be looked up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PINNED = Path(__file__).with_name("ci.txt")
#: Databases of pip-audit, asked in turn until one answers for everything.
SERVICES = ("pypi", "osv")


def main() -> int:
    """Ask the databases, and say what came of it."""
    for service in SERVICES:
        found, problem = _ask(service)
        vulnerable = [item for item in found if item.get("vulns")]
        for item in vulnerable:
            for one in item["vulns"]:
                fixed = ", ".join(one.get("fix_versions", [])) or "no version yet"
                print(f"{item['name']} {item['version']}: {one['id']}, fixed in {fixed}")
        if vulnerable:
            return 1
        skipped = [item for item in found if "skip_reason" in item]
        if found and not skipped:
            print(f"{len(found)} libraries looked up ({service}): no known vulnerability.")
            return 0
        reason = problem or f"{len(skipped)} of {len(found)}: {skipped[0]['skip_reason']}"
        print(f"NOT AUDITED by {service}: {reason}", file=sys.stderr)
    print("NOT AUDITED: no database of vulnerabilities could be asked from here.", file=sys.stderr)
    return 2


def _ask(service: str) -> tuple[list[dict[str, Any]], str]:
    """What a database says of every library, or why it says nothing."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(PINNED), "--no-deps", "--disable-pip"]
    command += ["-s", service, "-f", "json", "--progress-spinner", "off", "--timeout", "15"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=600)
        answer = json.loads(told.stdout)
    except subprocess.TimeoutExpired:
        return [], "no answer within ten minutes"
    except ValueError:
        lines = [line for line in told.stderr.splitlines() if line.strip()]
        return [], lines[-1][:200] if lines else "no answer"
    return list(answer["dependencies"]), ""


if __name__ == "__main__":
    sys.exit(main())
