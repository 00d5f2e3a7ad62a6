"""The generator: spec/ (YAML) -> checked model -> text under generated/.

Stages, each a module: ``source`` (YAML with positions), ``schema`` (shape of a file),
``scalars`` and ``tables`` (number formats, codebooks), ``blocks`` (a type file to a
model), ``formula`` (text to the typed expressions of ``expr``), ``bitmap`` (the proof that
each stored bit is claimed once), ``targets`` (emitters), ``generate`` (files and manifest).
"""
