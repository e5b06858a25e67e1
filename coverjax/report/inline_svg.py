"""A figure file as part of a page: only drawing, ids that meet nobody else's, a name for those who can't see
it."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"

ELEMENTS = frozenset({
    "svg", "g", "defs", "path", "use", "symbol", "clipPath", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "pattern", "linearGradient", "radialGradient", "stop", "image",
})  # fmt: skip
"""What may stand in a figure: shapes. No text (glyphs are shapes), no style sheet, no script, no link."""

ATTRIBUTES = frozenset({
    "id", "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "points",
    "viewBox", "transform", "style", "clip-path", "clip-rule", "fill", "stroke", "opacity", "offset",
    "patternUnits", "patternTransform", "gradientUnits", "gradientTransform", "preserveAspectRatio", "href",
})  # fmt: skip

_REFERENCE = re.compile(r"url\(\s*['\"]?#([^)'\"]+)['\"]?\s*\)")
_POINTS = re.compile(r"([\d.]+)pt")


def inline_svg(text: str, prefix: str, name: str, says: str) -> str:
    """Return an SVG document as an element for an HTML page.

    Kept are the elements and attributes that draw; references lead only into the figure itself, and every id
    begins with `prefix`, so that two figures on a page don't use each other's shapes. A screen reader is told
    `name` and `says`.

    Args:
        text: the document, as matplotlib writes it with its text as paths.
        prefix: letters, digits and hyphens; another one for each figure of a page.
        name: the figure's name.
        says: what it shows, in words.
    """
    source = ElementTree.fromstring(text)
    root = _copied(source, prefix)
    assert root is not None, "not an SVG document"
    for side in ("width", "height"):
        root.attrib.pop(side, None)
    points = _POINTS.fullmatch(source.get("width", ""))
    wide = f"{float(points[1]) * 4 / 3:.0f}px" if points else "100%"
    # The joins are what matplotlib says in a style sheet, which would reach the whole page.
    root.set("style", f"--wide: {wide}; stroke-linejoin: round; stroke-linecap: butt")
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-name {prefix}-says")
    for place, (tag, words) in enumerate((("title", name), ("desc", says))):
        element = ElementTree.Element(tag, {"id": f"{prefix}-{'says' if tag == 'desc' else 'name'}"})
        element.text = words
        root.insert(place, element)
    return ElementTree.tostring(root, encoding="unicode")


def _copied(source: ElementTree.Element, prefix: str) -> ElementTree.Element | None:
    tag = source.tag.removeprefix(SVG) if isinstance(source.tag, str) else ""
    if tag not in ELEMENTS:
        return None
    target = ElementTree.Element(tag, dict(_attributes(source, tag, prefix)))
    target.extend(child for part in source if (child := _copied(part, prefix)) is not None)
    return target


def _attributes(source: ElementTree.Element, tag: str, prefix: str) -> Iterator[tuple[str, str]]:
    for given, text in source.attrib.items():
        name = "href" if given == HREF else given
        value = _value(tag, name, text, prefix) if name in ATTRIBUTES else None
        if value is not None:
            yield name, value


def _value(tag: str, name: str, text: str, prefix: str) -> str | None:
    """Return an attribute's value with its references renamed; None where it leads out of the figure."""
    if name == "id":
        return f"{prefix}-{text}"
    if name == "href":
        inside = text.startswith("#")
        drawn = tag == "image" and text.startswith("data:image/png;base64,")
        return f"#{prefix}-{text[1:]}" if inside else text if drawn else None
    value = _REFERENCE.sub(rf"url(#{prefix}-\1)", text)
    return None if "url(" in value.replace(f"url(#{prefix}-", "") else value
