"""``python -m depmax`` is the command ``depmax``."""

from depmax.cli import main

if __name__ == "__main__":
    main()
