"""Nothing that a figure says is cut off at its edge."""

SLACK = 2.0
"""Pixels that a letter may stand out."""


def cut_off(figure):
    """Return the words of a drawn figure that do not lie on it."""
    found = []
    for ax in figure.axes:
        titles = [ax.title, ax._left_title, ax._right_title]
        for part in [*titles, ax.xaxis.label, ax.yaxis.label, ax.get_legend(), *ax.texts]:
            if part is None or not part.get_visible() or getattr(part, "get_text", lambda: "legend")() == "":
                continue
            box = part.get_window_extent()
            beyond = max(-box.x0, -box.y0, box.x1 - figure.bbox.x1, box.y1 - figure.bbox.y1)
            if beyond > SLACK:
                found.append((getattr(part, "get_text", lambda: "legend")(), round(float(beyond))))
    return found
