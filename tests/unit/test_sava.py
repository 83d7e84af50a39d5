"""SAVA's map: by hand, against the direct Adam loop, and each solver against its own optimum."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from method_inputs import make, new_rows, random_inputs

from revocab.initialise.methods.sava import METHOD, _Fit, choose_anchors
from revocab.initialise.rows import alignment


def data(anchors=60, width_x=7, width_y=5, seed=0):
    """Return unit rows in both spaces that are related, but not exactly."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(anchors, width_x, generator=generator)
    mix = torch.randn(width_x, width_y, generator=generator)
    y = x @ mix + 0.3 * torch.randn(anchors, width_y, generator=generator)
    return torch.nn.functional.normalize(x, dim=1), torch.nn.functional.normalize(y, dim=1)


def fit_lstsq(x, y, ridge=0.0):
    system = alignment.LeastSquares(alignment.gram(x), ridge)
    return system.solve(alignment.cross(x, y, exact=system.needs_exact), x.dtype)


def direct_adam(x, y, steps, learning_rate, seed):
    """Return the released procedure: a padded nn.Linear trained by full-batch Adam."""
    width = max(x.shape[1], y.shape[1])
    padded_x = torch.nn.functional.pad(x, (0, width - x.shape[1]))
    padded_y = torch.nn.functional.pad(y, (0, width - y.shape[1]))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        linear = torch.nn.Linear(width, width).to(x.dtype)
    optimizer = torch.optim.Adam(linear.parameters(), lr=learning_rate)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(linear(padded_x), padded_y).backward()
        optimizer.step()
    return lambda rows: linear(torch.nn.functional.pad(rows, (0, width - rows.shape[1])))[
        :, : y.shape[1]
    ].detach()


@pytest.mark.parametrize(("width_x", "width_y"), [(7, 5), (5, 7), (6, 6)])
def test_start_is_that_of_a_padded_linear_layer(width_x, width_y):
    start = alignment.linear_start(width_x, width_y, 42)
    width = max(width_x, width_y)
    torch.manual_seed(42)
    linear = torch.nn.Linear(width, width)
    assert torch.equal(start.weight_XY, linear.weight.T[:width_x, :width_y])
    assert torch.equal(start.bias_Y, linear.bias[:width_y])


@pytest.mark.parametrize(
    ("anchors", "width_x", "width_y"),
    # Wider helper, wider source, square, and few anchors (the direct form of the gradient).
    [(400, 48, 32), (400, 32, 48), (300, 40, 40), (12, 48, 32)],
)
def test_gram_form_has_the_iterates_of_the_direct_loop(anchors, width_x, width_y):
    x, y = data(anchors, width_x, width_y)
    fitted = alignment.fit_sgd(x, y, steps=1000, learning_rate=1e-3, seed=42)
    expected = direct_adam(x, y, 1000, 1e-3, 42)(x)
    assert ((fitted(x) - expected).norm() / expected.norm()).item() < 1e-5


def test_gram_form_is_closer_to_the_exact_iterates_than_the_float32_loop():
    # Nearly exact linear data: late gradients are tiny, and rounding is what Adam sees.
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(120, 20, generator=generator)
    y = x @ torch.randn(20, 32, generator=generator)
    y += 0.02 * torch.randn(y.shape, generator=generator)
    x, y = (torch.nn.functional.normalize(rows, dim=1) for rows in (x, y))
    exact = direct_adam(x.double(), y.double(), 1000, 1e-3, 42)(x.double())
    fitted = alignment.fit_sgd(x, y, steps=1000, learning_rate=1e-3, seed=42)(x)
    assert ((fitted - exact).norm() / exact.norm()).item() < 2e-6


def test_gram_is_summed_over_chunks(monkeypatch):
    x, y = data()
    design = torch.cat([x, torch.ones(len(x), 1)], dim=1).double()
    monkeypatch.setattr(alignment, "CHUNK_ROWS", 7)
    found = alignment.Normal.of(x, y)
    assert torch.allclose(found.gram_PP, design.T @ design, rtol=1e-12, atol=1e-12)
    assert torch.allclose(found.right_PY, design.T @ y.double(), rtol=1e-12, atol=1e-12)
    near = alignment.cross(x, y, exact=False)
    assert torch.allclose(found.right_PY, near, rtol=1e-6, atol=1e-6)


def test_lstsq_is_the_least_squares_solution():
    x, y = data()
    fitted = fit_lstsq(x, y)
    design = np.concatenate([x.double().numpy(), np.ones((len(x), 1))], axis=1)
    expected, *_ = np.linalg.lstsq(design, y.double().numpy(), rcond=None)
    assert np.allclose(fitted.weight_XY, expected[:-1], atol=1e-5)
    assert np.allclose(fitted.bias_Y, expected[-1], atol=1e-5)


def test_ridge_is_the_ridge_solution_and_leaves_the_bias_alone():
    from sklearn.linear_model import Ridge

    x, y = data()
    fitted = fit_lstsq(x, y, ridge=0.7)
    expected = Ridge(alpha=0.7).fit(x.double().numpy(), y.double().numpy())
    assert np.allclose(fitted.weight_XY.T, expected.coef_, atol=1e-5)
    assert np.allclose(fitted.bias_Y, expected.intercept_, atol=1e-5)


@pytest.mark.parametrize("scale", [1, 1000])
def test_lstsq_with_too_few_anchors_takes_the_smallest_map(scale):
    x, y = data(anchors=4, width_x=9, width_y=3)
    x *= scale
    fitted = fit_lstsq(x, y)
    assert torch.allclose(fitted(x), y, atol=1e-5)
    centred_x, centred_y = (rows.double() - rows.double().mean(0) for rows in (x, y))
    smallest = torch.linalg.pinv(centred_x) @ centred_y
    assert torch.allclose(fitted.weight_XY.double() * scale, smallest * scale, atol=1e-5)


@pytest.mark.parametrize(("anchors", "few"), [(4, True), (5, False)])
def test_few_anchors_are_less_than_half_the_width(anchors, few):
    # Products a step: anchors x width twice, or the square of the width.
    assert alignment.few_anchors(torch.zeros(anchors, 9)) == few


@pytest.mark.parametrize(("width", "large"), [(3600, False), (3800, True)])
def test_a_fit_of_more_than_a_trillion_products_is_large(width, large):
    rows = np.eye(3, width).tolist()  # 20 times the cube of 3,684
    fit = _Fit(make(rows, helper=rows), METHOD.options(solver="lstsq"))
    assert fit.large == large


@pytest.mark.parametrize(("width_x", "width_y"), [(5, 5), (7, 5), (5, 7)])
def test_procrustes_is_orthogonal_and_finds_a_rotation(width_x, width_y):
    from scipy.linalg import orthogonal_procrustes

    x, y = data(200, width_x, width_y)
    weight = alignment.fit_procrustes(x, y).weight_XY
    small = weight if width_x >= width_y else weight.T
    assert torch.allclose(small.T @ small, torch.eye(small.shape[1]), atol=1e-5)
    if width_x == width_y:
        expected, _ = orthogonal_procrustes(x.double().numpy(), y.double().numpy())
        assert np.allclose(weight, expected, atol=1e-5)
        rotated = x @ weight
        assert torch.allclose(alignment.fit_procrustes(x, rotated).weight_XY, weight, atol=1e-4)


def test_scaling_by_hand():
    rows = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    scaling = alignment.Scaling.fit(rows)
    assert scaling.mean_D.tolist() == [2.0, 5.0]
    assert scaling.scale_D.tolist() == [pytest.approx(2**0.5), 1.0]  # unbiased; constant: 1
    assert scaling.mean_norm.item() == pytest.approx(2**-0.5)
    assert scaling.forward(rows).tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert torch.allclose(scaling.backward(scaling.forward(rows)), rows)


def test_sava_by_hand_on_three_tokens():
    # Source = 3 * helper + 1 in one dimension: unit rows are signs, and the map is the identity.
    inputs = make([[1.0], [7.0]], helper=[[2.0], [0.0], [1.5]], overlap=((0, 1), (1, 0)))
    rows = new_rows("sava", inputs, solver="lstsq")
    # Statistics of both anchors: mean 1, deviation sqrt 2 in the helper; 4, 3 sqrt 2 in the source.
    # Token 1.5 is above the mean: sign +1, times mean norm 1/sqrt 2, times 3 sqrt 2, plus 4.
    assert rows.tolist() == [[pytest.approx(7.0, abs=1e-5)]]
    assert inputs.notes["anchors"] == 2
    assert inputs.notes["anchors_squared_error"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("solver", ["sgd", "lstsq", "procrustes"])
def test_whole_method_against_float64(solver):
    inputs = random_inputs(overlap=80, missing=20, source_width=9, helper_width=6)
    rows = new_rows("sava", inputs, solver=solver, steps=200)
    helper, source = inputs.helper_VD.double(), inputs.source_VD.double()
    x, y = helper[inputs.overlap_target_N], source[inputs.overlap_source_N]
    scaled_x = (x - x.mean(0)) / x.std(0)
    scaled_y = (y - y.mean(0)) / y.std(0)
    unit_x = scaled_x / scaled_x.norm(dim=1, keepdim=True)
    unit_y = scaled_y / scaled_y.norm(dim=1, keepdim=True)
    new = (helper[inputs.missing_N] - x.mean(0)) / x.std(0)
    new = new / new.norm(dim=1, keepdim=True)
    if solver == "sgd":
        mapped = direct_adam(unit_x, unit_y, 200, 1e-3, 42)(new)
    elif solver == "lstsq":
        design = torch.cat([unit_x, torch.ones(len(x), 1)], dim=1)
        theta = torch.linalg.lstsq(design, unit_y).solution
        mapped = torch.cat([new, torch.ones(len(new), 1)], dim=1) @ theta
    else:
        left, _, right = torch.linalg.svd(unit_x.T @ unit_y, full_matrices=False)
        mapped = new @ (left @ right)
    expected = mapped * scaled_y.norm(dim=1).mean() * y.std(0) + y.mean(0)
    assert torch.allclose(rows.double(), expected, rtol=1e-4, atol=1e-4)


def test_left_out_anchors_are_measured_as_if_refitted():
    inputs = random_inputs(overlap=30, missing=5, source_width=4, helper_width=3)
    new_rows("sava", inputs, solver="lstsq", ridge=0.2)
    helper = inputs.helper_VD[inputs.overlap_target_N]
    source = inputs.source_VD[inputs.overlap_source_N]
    x, y = (alignment.Scaling.fit(rows).forward(rows) for rows in (helper, source))
    errors = []
    for left in range(len(x)):
        rest = torch.arange(len(x)) != left
        refitted = fit_lstsq(x[rest], y[rest], ridge=0.2)
        errors.append((refitted(x[[left]]) - y[[left]]).square().sum().item())
    assert inputs.notes["held_out"] == "leave-one-out"
    assert inputs.notes["held_out_squared_error"] == pytest.approx(np.mean(errors), rel=1e-4)
    assert inputs.notes["held_out_squared_error"] > inputs.notes["anchors_squared_error"]


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_quality_by_hand(scale):
    wanted = scale * torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    mapped = scale * torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    found = alignment.quality("x", mapped, wanted)
    assert found == {"x_measured": 2, "x_squared_error": 1.0, "x_cosine": 0.5}


def test_second_sgd_fit_is_that_of_the_remaining_anchors():
    fit = _Fit(random_inputs(overlap=80), METHOD.options(steps=50))
    held, rest = (
        (fit.x_NX.take(n_N), fit.y_NY.take(n_N)) for n_N in (torch.arange(20), torch.arange(20, 80))
    )
    x, y = (rows[:] for rows in rest)
    alone = alignment.fit_sgd(x, y, steps=50, learning_rate=1e-3, seed=42)
    assert torch.allclose(fit.of(*rest, held)(x), alone(x), atol=1e-5)
    assert not torch.allclose(fit.all_anchors()(x), alone(x), atol=1e-4)


REFITTED = "anchors left out of a second fit"


@pytest.mark.parametrize(
    ("method", "options", "overlap", "held_out", "measured"),
    [
        ("sava", {"solver": "sgd", "steps": 50}, 80, REFITTED, 8),
        ("sava", {"solver": "procrustes"}, 80, REFITTED, 8),
        ("sava", {"solver": "sgd", "steps": 50, "held_out": 0.0}, 80, None, None),
        ("sava", {"solver": "lstsq", "anchors": 30}, 40, "shared tokens not fitted on", 10),
        ("projection", {}, 60, "leave-one-out", 60),
        ("projection", {}, 3, None, None),  # fewer anchors than dimensions: nothing to say
    ],
)
def test_a_map_is_measured_on_what_it_has_not_seen(method, options, overlap, held_out, measured):
    inputs = random_inputs(overlap=overlap, missing=5)
    rows = new_rows(method, inputs, **options)
    assert inputs.notes["held_out"] == held_out
    assert inputs.notes.get("held_out_measured") == measured
    if measured:
        assert inputs.notes["held_out_squared_error"] > inputs.notes["anchors_squared_error"]
    if held_out == REFITTED:  # the map in use is fitted on all
        alone = random_inputs(overlap=overlap, missing=5)
        assert torch.equal(rows, new_rows(method, alone, **options, held_out=0.0))


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e6])
def test_products_are_exact_where_anchors_are_ill_conditioned(spread):
    generator = torch.Generator().manual_seed(3)
    stretch = torch.logspace(0, np.log10(spread), 12)
    x = torch.randn(3000, 12, generator=generator) * stretch + 3 * stretch
    mix = torch.randn(12, 20, generator=generator) / stretch[:, None]
    y = x @ mix + 0.1 * torch.randn(3000, 20, generator=generator)
    system = alignment.LeastSquares(alignment.gram(x))
    design = torch.cat([x, torch.ones(len(x), 1)], dim=1).double()
    centred = (x.double() - x.double().mean(0)).numpy()
    least = np.linalg.svd(centred, compute_uv=False)[-1] ** 2
    greatest = np.linalg.svd(x.double().numpy(), compute_uv=False)[0] ** 2
    assert system.condition == pytest.approx(greatest / least, rel=0.3)
    assert system.needs_exact == (spread > 1)
    solution = torch.linalg.qr(design)
    expected = torch.linalg.solve_triangular(solution.R, solution.Q.T @ y.double(), upper=True)
    fitted = fit_lstsq(x, y)(x)
    wanted = (design @ expected).float()
    assert ((fitted - wanted).norm() / wanted.norm()).item() < 1e-5


def test_a_tied_helper_is_worked_on_once(monkeypatch):
    first = random_inputs(overlap=60)
    second = random_inputs(overlap=60)
    object.__setattr__(second, "shared", first.shared)
    expected = new_rows("sava", random_inputs(overlap=60), solver="lstsq")
    new_rows("sava", first, solver="lstsq")
    monkeypatch.setattr(alignment, "gram", None)  # a second call would fail
    assert torch.equal(new_rows("sava", second, solver="lstsq"), expected)


def test_anchors_are_sorted_seeded_and_the_same_for_both_matrices():
    chosen = choose_anchors(100, 10, seed=5)
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert torch.equal(chosen, choose_anchors(100, 10, seed=5))
    assert not torch.equal(chosen, choose_anchors(100, 10, seed=6))
    assert choose_anchors(7, 10, seed=5).tolist() == list(range(7))


@pytest.mark.parametrize("solver", ["sgd", "lstsq", "procrustes"])
@pytest.mark.parametrize("anchors", [1, 2, 1000])
def test_any_number_of_anchors_gives_finite_rows(solver, anchors):
    inputs = random_inputs()
    rows = new_rows("sava", inputs, solver=solver, anchors=anchors, steps=20)
    assert torch.isfinite(rows).all()
    assert inputs.notes["anchors"] == min(anchors, 40)
    assert inputs.notes["anchors_wanted"] == anchors


def test_defaults_are_the_published_ones():
    options = METHOD.options()
    assert (options.solver, options.steps, options.learning_rate) == ("sgd", 1000, 1e-3)
    assert (options.fit_seed, options.anchors, options.ridge) == (42, None, 0.0)


@pytest.mark.parametrize(
    ("method", "options", "tolerance"),
    [("projection", {}, 1e-6), ("sava", {"solver": "lstsq"}, 5e-5)],
)
def test_new_rows_of_dependent_anchors_are_those_of_a_float64_qr(method, options, tolerance):
    """Condition number 1e5: in float32, rows or map alone lose all but three digits."""
    generator = torch.Generator().manual_seed(1)
    left, right = (
        torch.linalg.qr(torch.randn(rows, 48, generator=generator, dtype=torch.float64))[0]
        for rows in (800, 48)
    )
    helper = ((left * torch.logspace(0, -5, 48, dtype=torch.float64)) @ right.T * 25).float()
    source = torch.randn(600, 32, generator=generator)
    inputs = make(
        source.tolist(),
        helper=helper.tolist(),
        overlap=[(token, token) for token in range(600)],
        missing=range(600, 800),
    )
    x, y, norm = helper.double(), source.double(), 1.0
    if method == "sava":
        x, y = (
            torch.nn.functional.normalize((rows - rows[:600].mean(0)) / rows[:600].std(0))
            for rows in (x, y)
        )
        norm = ((source - source.mean(0)) / source.std(0)).norm(dim=1).mean()
    design = torch.cat([x, torch.ones(800, 1)], dim=1)
    expected = design[600:] @ torch.linalg.lstsq(design[:600], y, driver="gelsd").solution
    if method == "sava":
        expected = expected * norm * source.std(0) + source.mean(0)
    found = new_rows(method, inputs, **options).double()
    assert ((found - expected).norm() / expected.norm()).item() < tolerance
