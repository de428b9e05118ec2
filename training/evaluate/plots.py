"""Pictures of an evaluation: the confusion matrix and the reliability diagram, as PNG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .score import Score
from .statistics import bins, interval

DPI = 100
INK, GRID, BAR = "#1f2937", "#d1d5db", "#2563eb"


def check() -> None:
    """Raise ModuleNotFoundError where matplotlib is not installed."""
    _figures()


def confusion(item: Score, path: Path) -> None:
    """Draw how often each label was answered with each bucket; rows are shares of the label, figures are counts.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    figure = _figures()
    counts = item.confusions()
    names = sorted({name for pair in counts for name in pair})
    totals = {label: sum(counts[label, answer] for answer in names) for label in names}
    # Labels that nothing was labelled with stay as columns: somebody was answered so.
    rows = [name for name in names if totals[name]]
    shares = [[counts[label, answer] / totals[label] for answer in names] for label in rows]
    side = 2.6 + 0.27 * len(names)
    drawn, axes = figure((side + 1.2, 2.2 + 0.27 * len(rows)))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    for row, label in enumerate(rows):
        for column, answer in enumerate(names):
            if count := counts[label, answer]:
                wrong = label != answer
                color = "white" if shares[row][column] > 0.6 else "#b91c1c" if wrong else INK
                weight = "bold" if wrong else "normal"
                axes.text(column, row, str(count), ha="center", va="center", fontsize=7, color=color, weight=weight)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_xticks([place - 0.5 for place in range(1, len(names))], minor=True)
    axes.set_yticks([place - 0.5 for place in range(1, len(rows))], minor=True)
    axes.grid(which="minor", color=GRID, linewidth=0.4)
    axes.tick_params(which="both", length=0)
    axes.set_xlabel("answer", fontsize=9)
    axes.set_ylabel("label", fontsize=9)
    axes.set_title(f"{item.name}: {item.right} of {len(item.pairs)} logs answered as labelled", fontsize=10)
    _save(drawn, path)


def reliability(item: Score, path: Path) -> None:
    """Draw how often answers of each confidence are right, with intervals, above how many there are.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    figure = _figures()
    found = bins(item.named)
    drawn, axes = figure((5.2, 5.6), 2)
    upper, lower = axes
    upper.plot([0, 1], [0, 1], color="#9ca3af", linewidth=1, linestyle="--", label="as sure as right")
    for mean, share, count in found:
        low, high = interval(round(share * count), count)
        upper.plot([mean, mean], [low, high], color=BAR, linewidth=1.2, alpha=0.6)
    upper.plot(
        [mean for mean, _, _ in found], [share for _, share, _ in found], "o-", color=BAR, markersize=5,
        label=f"{item.name} (ECE {item.error:.3f})",
    )  # fmt: skip
    upper.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share that is right")
    upper.grid(color=GRID, linewidth=0.5)
    upper.legend(loc="upper left", fontsize=8, frameon=False)
    upper.set_title("answers that name a failure, bars: 95 % intervals", fontsize=10)
    lower.bar([mean for mean, _, _ in found], [count for _, _, count in found], width=0.04, color=BAR)
    for mean, _, count in found:
        lower.text(mean, count, str(count), ha="center", va="bottom", fontsize=7, color=INK)
    lower.set(xlim=(0, 1), xlabel="confidence", ylabel="answers")
    lower.margins(y=0.25)
    _save(drawn, path)


def _figures() -> Callable[..., tuple[Any, Any]]:
    # The object interface: no window system is asked for, and nothing global is changed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    def figure(size: tuple[float, float], rows: int = 1) -> tuple[Any, Any]:
        drawn = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(drawn)
        ratios = {"height_ratios": [3, 1]} if rows == 2 else {}
        return drawn, drawn.subplots(rows, 1, sharex=rows == 2, gridspec_kw=ratios)

    return figure


def _save(drawn: Any, path: Path) -> None:
    # No time and no version in the file: the same figures make the same picture.
    drawn.savefig(path, dpi=DPI, metadata={"Software": None})
