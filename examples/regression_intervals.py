"""Counts of bicycles by the time of day: intervals before and after the rows of a broken counter are deleted."""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from deciduous import DareForestRegressor

BROKEN = "counter 7"
GREEN, ORANGE, GREY, BLACK = "#009e73", "#d55e00", "#57606a", "#1f2328"


def usual(hour):
    """Bicycles in an hour: people ride to work at eight and home at half past five."""
    return 40 + 420 * np.exp(-(((hour - 8) / 1.3) ** 2)) + 480 * np.exp(-(((hour - 17.5) / 1.9) ** 2))


rng = np.random.default_rng(1)
hour = rng.uniform(0, 24, 2500)
counter = np.array([f"counter {i}" for i in rng.integers(1, 9, len(hour))])
bicycles = rng.normal(usual(hour), 10 + 0.15 * usual(hour)).clip(0).round()
is_wrong = (counter == BROKEN) & (hour > 10) & (hour < 15)
bicycles[is_wrong] = rng.normal(760, 40, is_wrong.sum()).round()  # vibrations of a building site

# The range is a parameter: with it, a fit on fewer rows gives the same forest. Leaves of several rows make good
# intervals, and rows that are left out of half of the trees give an honest score.
forest = DareForestRegressor(
    n_estimators=100, min_samples_leaf=25, max_samples=0.5, target_range=(0, 1000), random_state=0
)
forest.fit(hour[:, None], bicycles, subjects=counter)

new_hours = rng.uniform(0, 24, 2000)
new_counts = rng.normal(usual(new_hours), 10 + 0.15 * usual(new_hours)).clip(0).round()
times = np.linspace(0, 24, 481)
curves = {}


def look(when):
    """Say how good the forest is, and keep its curve."""
    low, high = forest.predict_interval(new_hours[:, None], coverage=0.9).T
    inside = ((low <= new_counts) & (new_counts <= high)).mean()
    print(f"{when}: {inside:.0%} of new counts are inside, {np.mean(high - low):.0f} bicycles wide on average,")
    print(f"    R² {forest.score(new_hours[:, None], new_counts):.2f}; out of bag {forest.oob_score_:.2f}")
    low, high = forest.predict_interval(times[:, None], coverage=0.9).T
    curves[when] = forest.ids_, forest.predict(times[:, None]), low, high


look("with the broken counter")
report = forest.delete(subjects=[BROKEN])
look("after its deletion")
print("Rows deleted:", report.n_rows)
print("Is it the forest that never saw them?", "yes" if forest.verify() else "NO")

# ------------------------------------------------------------------------------------------------------- the picture

figure = Figure(figsize=(11, 4.6), dpi=100, layout="constrained")
figure.get_layout_engine().set(wspace=0.06)
panels = figure.subplots(1, 2, sharey=True)
before, after = curves.values()
titles = f"Before: with the rows of {BROKEN}", f"After forest.delete(subjects=[{BROKEN!r}])"
for panel, colour, title, (ids, mean, low, high) in zip(panels, (ORANGE, GREEN), titles, (before, after), strict=True):
    right, wrong = ids[~is_wrong[ids]], ids[is_wrong[ids]]  # ids are positions, as no others were given
    panel.scatter(hour[right], bicycles[right], s=3, color=GREY, alpha=0.35, linewidth=0, label="count")
    panel.scatter(hour[wrong], bicycles[wrong], s=9, color=BLACK, alpha=0.9, linewidth=0)
    panel.fill_between(times, low, high, color=colour, alpha=0.25, linewidth=0, label="interval for 90%")
    panel.plot(times, mean, color=colour, linewidth=2, label="mean")
    panel.set_title(title, loc="left", fontweight="bold", color=colour)
    panel.set(xlim=(0, 24), ylim=(0, 900), xticks=range(4, 24, 4), xticklabels=[f"{h}:00" for h in range(4, 24, 4)])
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(colors=GREY, length=0)
    panel.grid(axis="y", color="#e4e7eb")
    panel.set_axisbelow(True)
# What the deletion has changed: where the interval ended before.
*_, high_before = before
panels[1].plot(times, high_before, color=ORANGE, linewidth=1.2, linestyle=(0, (3, 2)), label="its upper end before")
panels[0].set_ylabel("bicycles in an hour")
panels[0].text(15.4, 780, "wrong counts", color=BLACK, fontweight="bold")
for panel in panels:
    panel.legend(loc="upper left", bbox_to_anchor=(0, 0.95), frameon=False, labelcolor=GREY)

path = Path(tempfile.mkdtemp()) / "intervals.png"
figure.savefig(path)
print("Picture:", path)
