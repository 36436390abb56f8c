"""The ``espalier`` command: the program that lies beside this package."""

import os
import sys


def path():
    """Where the program is."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_bin", "espalier")


def main():
    """Becomes the program, which then hears signals as if it had been started by itself."""
    os.execv(path(), ["espalier", *sys.argv[1:]])
