"""Every language against the same vectors: programs that answer requests through a pipe.

`PYTHONPATH=tests python -m languages` builds what the machine has tools for, asks everything and
prints a matrix; test_conformance.py is the same for pytest.
"""
