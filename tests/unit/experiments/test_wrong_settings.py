"""Settings that a study rejects before anything runs, with what it says of them."""

import pytest

from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.settings import SettingsError

EXAMPLES = str(ROOT / "docs" / "examples")
# Words of the command line, and what the message has.
WRONG = {
    "boltzmann": [
        (
            "n_repeats=2 n_chains=5",
            "n_chains must be a multiple of n_repeats=2, so that each repeat has as many chains, got 5",
        ),
        ("summary_size=5 n_draws=21", "n_draws must be a multiple of summary_size=5, got 21"),
        ("n_units=6 shift=published", "shift=published belongs to the published systems of 30 units"),
        ("design=systems data={EXAMPLES}/boltzmann.csv", "design=systems describes the published systems"),
        ("data=nowhere.npz", "nowhere.npz: no such file"),
        ("method=nuts", "method"),
    ],
    "gaussian_latent": [
        ("++batch.bracket_width=[1.0,2.0]", "tuned by step_size"),
        ("method=apm_ss_ss ++batch.step_size=[0.1]", "tuned by bracket_width"),
        ("++batch.method=[pm_mh,apm_mi_ss]", "cannot run in one case"),
        ("++batch.dim=[2,3]", "batch.dim"),
        ("record_auxiliary=true", "design=long"),
    ],
    "generalised_lambda": [
        ("++batch.n_warm_up=[1]", "runs together only step_size"),
        ("design=reference ++batch.tolerance=[0.1]", "runs together only priors"),
        ("min_steps=9 max_steps=3", "min_steps must be at most max_steps, got 9 and 3"),
        ("n_walkers=9", "n_walkers must be even, got 9"),
        ("step_unit=tolerance", "needs a method with a tolerance"),
        ("++batch.n_bisections=[4,8]", "makes no bisections"),
        ("++batch.tolerance=[0.1]", "has no tolerance"),
        ("data=nowhere.csv", "no such file"),
        ("method=hmc", "method must be one of modified_abc, constrained_hmc, abc_hmc"),
    ],
    "gp_probit": [
        ("label=class", "give data=FILE.csv"),
        ("++batch.step_size=[0.1]", "runs no settings side by side"),
        ("design=estimator fixed_step_sizes=[]", "fixed_step_sizes needs numbers"),
        ("design=estimator n_weights=100", "at least twice the largest"),
        ("design=estimator n_importance_grid=[]", "n_importance_grid needs numbers"),
        ("data=nowhere.csv", "no such file"),
        ("n_importance=0", "n_importance must be between 1"),
    ],
    "human_pose": [
        ("++batch.noise_scale=[0.1]", "runs together only scene, step_size"),
        ("++batch.step_size=[0.0,0.1]", "every step must be positive"),
        ("n_steps=[5,3]", r"fewest and most, got \[5, 3\]"),
        ("method=hmc n_inner_steps=3", "method=hmc has no geodesic sub-steps"),
        ("data=nowhere.csv", "nowhere.csv: no such file"),
        ("data={EXAMPLES}/joints.csv views=monocular", "views=monocular: expected view 1, got 1 and 2"),
        ("data={EXAMPLES}/joints.csv scene=2", "with data=FILE there is one scene"),
        ("prior=mine", "prior must be one of own, published"),
        ("scene=4", "scene must be between 1 and 3"),
        ("method=chmc", "method must be one of constrained_hmc, hmc, hierarchical_hmc"),
    ],
    "image_models": [
        ("n_images=11 n_generated=10", "n_images must be at most n_generated=10, got 11"),
        ("+batch.n_runs=[4,8]", "batch.n_runs: this study runs together only method, n_temperatures"),
        ("+batch.n_temperatures=[4,8]", "only method=ais runs with several ladders"),
        ("model=own_digit", "model must be one of .*Did you mean 'own_digits'"),
        ("weights=none.npz", "none.npz: no such file"),
        ("n_repetitions=1", "n_repetitions must be between 2 and 1000, got 1"),
    ],
    "lotka_volterra": [
        ("tolerance=1.0", "conditions exactly"),
        ("method=ss_ball step_size=0.1", "nothing to tune"),
        ("method=ss_ball n_steps=[1,2]", "makes no integrator steps"),
        ("n_steps=[5,4]", "two integers, fewest and most"),
        ("n_steps=[5]", "two integers, fewest and most"),
        ("n_draws=100 n_discard=95", "at least 10 of the n_draws=100"),
        ("method=pm_summaries n_draws=5000 n_discard=1000", r"n_batches \* batch_size"),
        ("design=step_sizes method=ss_ball", "design=step_sizes runs the methods chmc_all, hmc_gaussian"),
        ("design=failures", "design=failures runs the methods pm_ball, pm_gaussian"),
        ("++batch.n_chains=[1,2]", "batch.n_chains: this study runs together only method, scheme"),
        ("noise_scales=[1.0]", "noise_scales must be two numbers"),
        ("initial_state=[1.0]", "initial_state must be two numbers"),
        ("data=/nowhere/series.csv", "no such file"),
    ],
    "manifold_illustrations": [
        ("inner_steps=[1,4]", r"inner_steps must be factors of 18 \(1, 2, 3, 6, 9, 18\), got 4"),
        ("dense_sizes=[100,100]", "dense_sizes must hold at least two different values"),
    ],
    "radon": [
        ("n_draws=50 n_warm_up=60", "n_warm_up must be at most n_draws=50"),
        ("group=school", "group names columns of your own data file: give data=FILE.csv too"),
        ("data={EXAMPLES}/grouped.csv group=school", "outcome is empty: name the column of"),
        ("++batch.step_size=[0.1,0.2]", "batch.step_size: this study runs no settings side by side"),
        (
            "method=nutz",
            r"method must be one of nuts, gibbs_ct, ct_hmc, ais, got 'nutz'\. Did you mean 'nuts'\?",
        ),
    ],
    "estimator_illustrations": [
        ("batch_rows=[200,200]", r"batch_rows must hold different values, got \[200, 200\]"),
        ("batch_rows=[]", "batch_rows must hold one value at least"),
        (
            "exact_estimators=[sis]",
            "exact_estimators must be one of ais, stream, sir, adaptive, finely_adaptive, got 'sis'",
        ),
        ("n_leapfrog=150", "n_evaluations_shown must be at least two updates, 2 n_leapfrog = 300, got 200"),
        ("n_draws=900", "n_draws must be at least 1000"),
        (
            "++batch.n_samples=[5,10]",
            "batch.n_samples: this study runs no settings side by side; sweep over n_samples instead",
        ),
    ],
    "streaming_evidence": [
        ("stream=shuffled n_rows=200000", "n_rows must be at most 100000 for stream=shuffled"),
        ("variations=['n_movs=2']", "variations: 'n_movs=2' of 'n_movs=2' is not NAME=VALUE with one of"),
        ("variations=['n_moves=two']", "variations: n_moves must be int, got 'two'"),
        ("variations=['n_moves=0']", r"n_moves must be at least 1, got 0 \(variations\)"),
        ("variations=['method=none']", "method must be one of annealed, sequential"),
        ("variations=['']", "variations: an element is empty"),
        ("design=starts", "design=starts is about streams of mixtures, got linear"),
        ("design=full_data sizes=[200,100]", "sizes must be different and increase"),
        ("method=sequential chunk_size=10", "chunk_size must be at least 20 rows"),
        ("design=stopping variations=['n_moves=2']", "design=stopping runs with one setting"),
    ],
    "tempering_illustration": [
        ("log_zetas=[-1.0,1.0]", "log_zetas must hold 0"),
        ("log_zetas=[0.0,1.0,1.0]", "log_zetas must be different values"),
        ("passage_intervals=[5,5]", "passage_intervals must be at least two different values"),
        ("++batch.step_size=[0.1,0.2]", "batch.step_size: this study runs no settings side by side"),
    ],
}


@pytest.mark.parametrize(
    ("study", "words", "message"), [(study, *row) for study, rows in WRONG.items() for row in rows]
)
def test_wrong_settings_are_rejected(study, words, message):
    with pytest.raises(SettingsError, match=message):
        load_study(study).settings(words.replace("{EXAMPLES}", EXAMPLES).split())
