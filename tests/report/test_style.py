"""Palette, places of names, fonts, and figure files whose bytes repeat."""

import itertools

import matplotlib
import numpy as np
import pytest

from coverjax.report.style import PALETTE, drawable, label_ends, look, new_figure, save_figure, spread_apart

# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB.
EYES = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}


def linear(colour):
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    matrix = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
    x = np.array(matrix) @ rgb / np.array([0.95047, 1.0, 1.08883])
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", EYES)
def test_colours_differ_to_all_eyes(eyes):
    seen = [lab(np.clip(np.array(EYES[eyes]) @ linear(colour), 0, 1)) for colour in PALETTE]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 25


def test_colours_differ_in_grey_and_from_the_paper():
    lightness = sorted(lab(linear(colour))[0] for colour in PALETTE)
    assert np.diff(lightness).min() > 6.5
    luminance = max((linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in PALETTE)
    assert 1.05 / (luminance + 0.05) > 2.3


def test_forty_lines_look_different():
    looks = {str((look(i)["color"], look(i)["linestyle"])) for i in range(40)}
    assert len(looks) == 40


def test_spread_apart_leaves_what_is_apart():
    assert spread_apart([0.1, 0.9, 0.5], 0.1, 0.0, 1.0) == pytest.approx([0.1, 0.9, 0.5])


def test_spread_apart_moves_as_little_as_possible():
    assert spread_apart([0.5, 0.5], 0.1, 0.0, 1.0) == pytest.approx([0.45, 0.55])
    assert spread_apart([1.0, 1.0, 1.0], 0.1, 0.0, 1.0) == pytest.approx([0.8, 0.9, 1.0])
    assert spread_apart([], 0.1, 0.0, 1.0) == []


def test_spread_apart_keeps_order_gap_and_limits(rng):
    for _ in range(200):
        count = int(rng.integers(1, 30))
        at = rng.choice([0.0, 0.3, 0.31, 1.0], count) + 0.01 * rng.random(count)
        gap = float(rng.uniform(0.0, 0.1))
        placed = np.array(spread_apart(at.tolist(), gap, 0.0, 1.0))
        order = np.argsort(at, kind="stable")
        room = min(gap, 1.0 / max(count - 1, 1))
        assert np.diff(placed[order]).min(initial=1.0) >= room - 1e-12
        assert placed.min() >= -1e-12
        assert placed.max() <= 1.0 + 1e-12


@pytest.mark.parametrize(
    "text",
    ["$x^2$ and $\\frac{", "العربية", "שלום", "日本語", "🦄 and 😀", "x" * 10_000, "\ud800\x07", "a\u0301"],
)
def test_any_text_is_drawn_without_a_warning(tmp_path, text):
    figure = new_figure(4.0, 1.0)
    ax = figure.subplots()
    ax.set_title(drawable(text))
    save_figure(figure, tmp_path, "figure")
    assert len(drawable(text)) <= 32


def test_characters_without_a_glyph_become_escapes():
    assert drawable("日本") == "\\u65e5\\u672c" or "日" in drawable("日本")
    assert drawable("plain ascii") == "plain ascii"


def test_a_dollar_sign_is_no_mathematics(tmp_path):
    from coverjax.report.style import styled

    @styled
    def drawn():
        figure = new_figure(3.0, 1.0)
        return figure.subplots().set_title("$\\frac{$")

    assert drawn().get_parse_math() is False


def test_bytes_repeat(tmp_path):
    for name in ("a", "b"):
        figure = new_figure(3.0, 2.0)
        ax = figure.subplots()
        ax.plot([1, 2], [1, 2])
        label_ends(ax, [("line", 2.0, 2.0, PALETTE[0])])
        save_figure(figure, tmp_path, name)
    for suffix in ("png", "svg"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    svg = (tmp_path / "a.svg").read_text()
    assert "dc:date" not in svg


def test_matplotlibs_settings_are_left_alone(tmp_path):
    before = dict(matplotlib.rcParams)
    save_figure(new_figure(), tmp_path, "figure")
    assert dict(matplotlib.rcParams) == before
