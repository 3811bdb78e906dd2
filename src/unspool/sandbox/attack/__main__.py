"""``python -m unspool.sandbox.attack [--without-namespaces]``: all attacks; prints a report as JSON.

``--table`` prints the table of docs/security.md, from attacks in both tiers.
"""

import sys

from .suite import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
