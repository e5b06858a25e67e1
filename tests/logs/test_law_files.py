"""Laws from tables: right arrays, and one line that names the place where they are wrong."""

import numpy as np
import pytest

from coverjax.foundation.checks import InputError
from coverjax.logs.law_files import read_law
from coverjax.model.law import OutcomeLaw
from coverjax.model.router_generator import RouterGenerator


def written(tmp_path, text: str, name: str = "law.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_single_labels_add_up_and_keep_off_strategy_mass(tmp_path):
    path = written(
        tmp_path, "input,strategies,p,valid\nx,a,0.4,1\nx,a,0.1,0\nx,b,0.3,1\nx,,0.2,0\ny,c,1,0.5\n"
    )
    law = read_law(path)
    assert isinstance(law, OutcomeLaw)
    assert law.single_label
    assert law.ids.tolist() == ["x", "y"]
    np.testing.assert_allclose(law.marginals(), [[0.5, 0.3], [1.0, 0.0]])
    np.testing.assert_allclose(law.counting("valid").marginals(), [[0.4, 0.3], [0.5, 0.0]])
    np.testing.assert_allclose(law.off_strategy, [0.2, 0.0])
    assert law.declared.tolist() == [[True, True], [True, False]]


def test_match_sets_and_declared_strategies(tmp_path):
    path = written(
        tmp_path,
        '{"input": "x", "strategies": ["a", "b"], "p": 0.5}\n'
        '{"input": "x", "strategies": "b|n", "p": 0.25}\n',
        "law.jsonl",
    )
    law = read_law(path, declared=["b", "z"])
    assert not law.single_label
    assert law.declared_count.tolist() == [2]
    np.testing.assert_allclose(law.marginals()[0, :2], [0.75, 0.0])


def test_a_router_generator(tmp_path):
    path = written(
        tmp_path,
        "input,latent,router,strategies,p\nx,z1,0.75,a,0.9\nx,z1,0.75,b,0.1\nx,z2,0.25,b,1\n",
    )
    model = read_law(path)
    assert isinstance(model, RouterGenerator)
    np.testing.assert_allclose(model.router, [[0.75, 0.25]])
    np.testing.assert_allclose(model.marginal().marginals(), [[0.675, 0.325]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input,strategies\nx,a\n", r"law.csv:1: p: missing column"),
        ("input,strategies,p\nx,a,1.5\n", r"law.csv:2: p: must be a probability from 0 to 1; got 1.5"),
        ("input,strategies,p\nx,a,-0.1\n", r"law.csv:2: p: must be a probability"),
        ("input,strategies,p\nx,a,nan\n", r"law.csv:2: p: must be a finite number"),
        ("input,strategies,p\nx,a,0.5\nx,a,0.2\n", r"law.csv:3: strategies: must stand once"),
        ("input,strategies,p\nx,a,0.7\nx,b,0.5\n", "law.csv: probs: .*input 'x'"),
        ("input,strategies,p\n,a,0.7\n", r"law.csv:2: input: "),
        ("input,strategies,p,latent\nx,a,0.7,z\n", r"law.csv:1: router: missing column"),
        (
            "input,strategies,p,latent,router\nx,a,0.7,z,0.5\nx,b,0.3,z,0.6\n",
            r"law.csv:3: router: must be the same in all rows",
        ),
        ("input,strategies,p\n", "no rows"),
        ("input,strategies,p,correct\nx,a,1,2\n", r"law.csv:2: correct: must be a probability"),
    ],
)
def test_wrong_tables_name_their_place(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_law(written(tmp_path, text))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(InputError, match=r"none.csv: no such file"):
        read_law(tmp_path / "none.csv")
