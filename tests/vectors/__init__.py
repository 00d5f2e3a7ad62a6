"""The neutral vectors of spec/conformance: made here, run by every language.

`PYTHONPATH=tests python -m vectors` writes them, `--check` tells whether they are fresh. Nothing
here uses what is generated from the specification: blocks are judged by the interpreter of the
type files, containers are made byte by byte. What other libraries say of both, and what our own
code says, is compared by tests/languages/test_vectors.py.
"""
