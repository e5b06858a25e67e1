import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.routing.views import PublicView, check_boundary, routed

FIELDS = {
    "card": np.array([0.1, 0.9, 0.4, 0.8]),
    "solution": np.array([1, 0, 1, 1]),
    "author": np.array(["x", "y", "x", "z"]),
}


def honest(fields):
    return (fields["card"] > 0.5).astype(int)


def cheating(fields):
    return fields["solution"]


def sly(fields):
    """Reads a private field for ties only."""
    return np.where(fields["card"] > 0.85, 1, (fields["author"] == "x").astype(int))


def test_a_view_holds_public_fields_only():
    view = PublicView(FIELDS, ["card"])
    assert list(view) == ["card"]
    assert "solution" not in view
    with pytest.raises(InputError, match="solution: a router may look at the public fields card only"):
        view["solution"]
    with pytest.raises(ValueError, match="read-only"):
        view["card"][0] = 1.0


def test_a_view_does_not_share_memory():
    fields = {"card": np.zeros(3)}
    view = PublicView(fields, ["card"])
    fields["card"][0] = 7.0
    assert view["card"][0] == 0.0


def test_routers_get_a_view():
    assert routed(honest, FIELDS, ["card"]).tolist() == [0, 1, 0, 1]
    with pytest.raises(InputError, match="solution: a router may look"):
        routed(cheating, FIELDS, ["card"])


def test_permuting_private_fields_finds_a_router_that_reads_them():
    assert check_boundary(honest, FIELDS, ["card"]).tolist() == [0, 1, 0, 1]
    with pytest.raises(InputError, match="router: reads the private field 'solution'"):
        check_boundary(cheating, FIELDS, ["card"])
    with pytest.raises(InputError, match="router: reads the private field 'author'"):
        check_boundary(sly, FIELDS, ["card"], seed=1)


def test_public_fields_must_be_there():
    with pytest.raises(
        InputError, match="public: must be fields of the tasks; cards is not among card, solution"
    ):
        PublicView(FIELDS, ["cards"])
