"""Write the table of all limits into docs/limits.md, as `innkeeper limits --markdown` prints it."""

from __future__ import annotations

from pathlib import Path

from innkeeper.cli.app.limits import markdown, named_limits

PAGE = Path(__file__).parents[1] / "docs" / "limits.md"
BEGIN, END = "<!-- begin: innkeeper limits --markdown -->", "<!-- end -->"


def page(text: str) -> str:
    """The page with the table of today."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{markdown(named_limits())}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
