"""Figures on the page: their headings become the page's own text, their data one block of JSON."""

import json
from typing import Any

import plotly.graph_objects as go

from photinus.report.markup import Html, join, tag


class Figures:
    """Collects the figures of a page in the order in which they are placed."""

    def __init__(self) -> None:
        self._figures: dict[str, Any] = {}

    def place(
        self, figure: go.Figure, *, is_wide: bool = False, title: str | None = None, is_bare: bool = False
    ) -> Html:
        """A card with the figure; where there is nothing to see, with the words that say why.

        A bare one has neither caption nor legend, because the text around it explains it.
        """
        drawn = json.loads(str(figure.to_json()))
        layout = drawn["layout"]
        heading = layout.pop("title", {})
        text = Html(heading.get("text", "")) if title is None else title
        caption = Html("" if is_bare else heading.get("subtitle", {}).get("text", ""))
        if drawn["data"]:
            key = f"figure-{len(self._figures) + 1}"
            layout.pop("template", None)  # the page has one for all figures
            height = layout.pop("height") - (90 if is_bare else 50)  # headings are outside, on the page
            if is_bare:
                layout["showlegend"] = False
            self._figures[key] = {"data": drawn["data"], "layout": layout}
            body = tag("div", "", class_="plot", id=key, style=f"height:{height}px", role="img")
        else:
            body = tag("p", Html(layout["annotations"][0]["text"]), class_="empty")
        parts = [tag("h3", text) if text else "", body, tag("figcaption", caption) if caption else ""]
        return tag("figure", join(part for part in parts if part), class_="card wide" if is_wide else "card")

    def to_json(self) -> str:
        """All data, safe inside a script element."""
        text = json.dumps(self._figures, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
