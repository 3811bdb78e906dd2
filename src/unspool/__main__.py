"""``python -m unspool`` is the ``unspool`` command."""

from unspool.cli import main

if __name__ == "__main__":
    main()
