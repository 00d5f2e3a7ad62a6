"""``python -m ggufspec`` is the command line."""

from .cli import main

main()
