"""A file shown as one HTML page.

`make_report` needs the extra `report`: Jinja for the page, vl-convert (the renderer of Vega) for
the plots. The plots are drawn as SVG when the page is made, so that it needs no script to show
them and asks no network for anything.
"""

from __future__ import annotations

from .report import EXTRA, LIMIT, make_report, missing

__all__ = ["EXTRA", "LIMIT", "make_report", "missing"]
