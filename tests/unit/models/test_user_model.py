"""A user's model file gives the model that it says, or an error that names the function."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml

from auxmc.errors import ModelError
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.row_model import row_model
from auxmc.models.user_model import check_model, importing_from, load_model, prior_disagreement, run_file

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "student_regression.py"
ROWS = jnp.asarray(np.random.default_rng(1).normal(size=(40, 3)))
KEY = jax.random.key(3)

PRIOR = "-0.5 * parameters[0] ** 2"
FUNCTIONS = """
import jax, jax.numpy as jnp
def log_likelihood(parameters, rows):
    return -0.5 * (rows[:, 0] - parameters[0]) ** 2
def log_prior(parameters):
    return -0.5 * parameters[0] ** 2 - 0.5 * jnp.log(2 * jnp.pi)
def draw_prior(key):
    return jax.random.normal(key, (1,))
"""


def write(folder, text):
    path = folder / "mine.py"
    path.write_text(text)
    return path


def test_files_may_import_what_lies_beside_them_and_keep_apart(tmp_path):
    """Files of one name in two folders are two; classes of a file find their module."""
    for name, value in (("one", 1.0), ("two", 2.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "helpers.py").write_text(f"value = {value}")
        text = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom helpers import value\n"
        path = write(tmp_path / name, text + "@dataclass\nclass Kept:\n    value: float = value\n")
        assert run_file(path).Kept().value == value
    assert "helpers" not in sys.modules
    assert str(tmp_path / "two") not in sys.path


def test_the_example_is_the_model_that_it_says():
    model, valid_rows = load_model(EXAMPLE, 3, settings={"degrees": 1e6})
    assert valid_rows is None
    assert (model.dim, model.n_columns) == (4, 3)
    assert check_model(model, ROWS, KEY, "example") == []
    # With so many degrees of freedom and scale 1 it is linear regression with normal noise.
    parameters = jnp.array([0.3, -0.2, 0.5, 0.0])
    expected = linear_regression(2).log_likelihood(parameters[:3], ROWS)
    np.testing.assert_allclose(model.log_likelihood(parameters, ROWS), expected, atol=1e-4)
    assert float(model.natural(parameters)["scale"]) == 1.0


def test_constants_of_a_file_do_not_change_the_precision(tmp_path):
    text = FUNCTIONS.replace("rows[:, 0] -", "rows[:, 0].astype(jnp.float64) -").replace(
        "parameters[0])", "parameters[0].astype(jnp.float64))"
    )
    model, _ = load_model(write(tmp_path, text), 3)
    single = jnp.zeros(1, jnp.float32)
    assert model.log_likelihood(single, ROWS.astype(jnp.float32)).dtype == jnp.float32
    with jax.numpy_dtype_promotion("standard"):
        slope = model.weighted_gradient(single, ROWS.astype(jnp.float32), jnp.ones(40, jnp.float32))
    assert slope.dtype == jnp.float32


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *GIVEN["no_models"],
        (FUNCTIONS.replace("(1,))", "(1, 1))"), r"draw_prior must return parameters \[dim\], got \(1, 1\)"),
    ],
)
def test_a_file_that_makes_no_model_is_rejected(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        load_model(write(tmp_path, text), 3)


def test_names_and_settings_that_are_not_there_are_rejected(tmp_path):
    with pytest.raises(ModelError, match="there is no such model file"):
        load_model(tmp_path / "absent.py", 3)
    with pytest.raises(ModelError, match="there is no function 'modell'; it has model"):
        load_model(EXAMPLE, 3, "modell")
    with pytest.raises(ModelError, match="model has no setting 'degree', only degrees"):
        load_model(EXAMPLE, 3, settings={"degree": 3})
    with pytest.raises(ModelError, match="scale cannot be set: there is no function"):
        load_model(write(tmp_path, FUNCTIONS), 3, settings={"scale": 3})
    text = (
        "from auxmc.models.regression.linear_regression import linear_regression\n"
        "def model(n_columns): return linear_regression(5)"
    )
    with pytest.raises(ModelError, match="expected a model of rows of 3 numbers, got 6"):
        load_model(write(tmp_path, text), 3)


@pytest.mark.parametrize(("old", "new", "message"), GIVEN["wrong_functions"])
def test_a_function_that_is_wrong_is_named_in_a_line(tmp_path, old, new, message):
    assert old in FUNCTIONS
    model, _ = load_model(write(tmp_path, FUNCTIONS.replace(old, new)), 3)
    with pytest.raises(ModelError, match=rf"mine(\.py)?(, line \d+)?: {message}") as caught:
        check_model(model, ROWS, KEY, "mine")
    assert "\n" not in str(caught.value)


def test_a_constant_that_is_missing_in_a_prior_is_no_matter(tmp_path):
    # An evidence over rows is a mean over draws of the prior.
    model, _ = load_model(write(tmp_path, FUNCTIONS.replace(" - 0.5 * jnp.log(2 * jnp.pi)", "")), 3)
    assert check_model(model, ROWS, KEY, "mine") == []


@pytest.mark.parametrize("extra", [" + 0.5 * parameters[0]", " - 0.1 * parameters[0] ** 2"])
def test_a_prior_that_is_not_that_of_its_draws_is_noticed(tmp_path, extra):
    # What a Jacobian that is missing, or another scale, does.
    model, _ = load_model(write(tmp_path, FUNCTIONS.replace(PRIOR, PRIOR + extra)), 3)
    (warning,) = check_model(model, ROWS, KEY, "mine")
    assert "log_prior is not the density of what draw_prior draws" in warning


@pytest.mark.parametrize("model", [linear_regression(5), gaussian_mixture(2)])
def test_priors_agree_with_their_draws(model):
    assert prior_disagreement(model, KEY) < 5.0


def test_heavy_tails_agree_with_their_draws():
    model = row_model(
        2,
        3,
        lambda p, rows: -((rows[:, 0] - p[0]) ** 2),
        lambda p: -jnp.sum(jnp.log1p(p**2)),
        lambda key: jax.random.cauchy(key, (2,)),
    )
    assert prior_disagreement(model, KEY) < 5.0


def test_functions_may_import_from_their_folder_when_they_run(tmp_path):
    (tmp_path / "own_helpers.py").write_text("value = object()", encoding="utf-8")
    path = write(
        tmp_path,
        "import own_helpers\ndef late():\n    import own_helpers as o\n    return o is own_helpers\n",
    )
    with importing_from(tmp_path):
        assert run_file(path).late()
    assert "own_helpers" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        run_file(path).late()
