"""Draws the panels into one PNG file, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.what_if.replay.pictures.panels import Panel, number, time_axis

_COLUMNS = 2


def write_png(path: str, panels: Sequence[Panel], title: str) -> None:
    """Raises OSError if the file cannot be written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(11, 0.8 + 2.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    hours = max((line.hours[-1] for panel in panels for line in panel.lines if line.hours), default=0.0)
    unit, unit_name = time_axis(hours)
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(rows, _COLUMNS, place + 1)
        for number_of_line, line in enumerate(panel.lines):
            style = ("-", "--", ":", "-.")[number_of_line % 4]
            axes.plot(
                [hour / unit for hour in line.hours], line.values, style, label=line.name, linewidth=1.6
            )
        axes.set_title(panel.title, fontsize=11)
        axes.set_xlabel(unit_name)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
        is_share = panel.is_share
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _, is_share=is_share: number(value, is_share=is_share))
        )
    if panels and len(panels[0].lines) > 1:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), frameon=False)
    figure.savefig(path, dpi=130)
