"""A report on a terminal, by Rich. All text is untrusted: it is cleaned and never read as markup."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from planexec.cli.text import clean

STYLES = {
    "completed": "green", "passed": "green", "succeeded": "bold green", "pending": "dim", "running": "cyan",
    "superseded": "dim strike", "blocked": "yellow", "failed": "bold red", "error": "red", "inconclusive": "yellow",
    "interrupted": "yellow", "waiting": "yellow",
}  # fmt: skip
NARROW = 100
"""Below this width a table of four columns or more is written as a list."""


def console(stream: TextIO) -> Console:
    """A console that writes no escapes at all where NO_COLOR is set: Rich by itself would go on writing bold."""
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(file=stream, highlight=False, color_system=None if plain else "auto")


class RichPage:
    """Colours and tables, fitted to the width of the terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.console = console(stream)

    def heading(self, text: str) -> None:
        """A heading with an empty line before it."""
        self.console.print()
        self.console.print(Text(clean(text), style="bold"))

    def line(self, text: str, style: str = "") -> None:
        """One paragraph, wrapped."""
        self.console.print(Text(clean(text), style=STYLES.get(style, style)))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table; on a narrow terminal a list with the first column as its head."""
        if self.console.width < NARROW and len(columns) > 3:
            self._list(columns, rows)
            return
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for number, column in enumerate(columns):
            table.add_column(column, overflow="fold", no_wrap=number == 0)
        for row in rows:
            table.add_row(*(Text(clean(cell), style=STYLES.get(cell, "")) for cell in row))
        self.console.print(table)

    def _list(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for row in rows:
            self.console.print(Text(f"  {clean(row[0])}", style="bold"))
            for column, cell in list(zip(columns, row, strict=True))[1:]:
                if cell != "-":
                    text = Text(f"{column}: ", style="dim")
                    text.append(clean(cell), style=STYLES.get(cell, "default"))
                    self.console.print(Padding(text, (0, 0, 0, 4)))

    def patch(self, text: str) -> None:
        """The patch, coloured."""
        body = clean(text, keep_lines=True).rstrip("\n")
        self.console.print(Syntax(body, "diff", theme="ansi_dark", background_color="default"))
