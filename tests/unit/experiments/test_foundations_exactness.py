"""Lines of the foundations that are declared exact do not change with the seed, and all others do."""

import pytest

from tests.unit.experiments.foundations_topics import Computed

# By design: an effort, and claims whose simulations take too long for a test even so.
DESIGNS = {
    "numbers": (1e-3, {"FN-IS-03", "FN-MC-04", "FN-DS-08"}),
    "chains": (0.01, {"FN-EX-01", "FN-HM-09", "FN-GB-01", "FN-SL-05"}),
    "evidence": (1e-4, {"FN-SM-01", "FN-SM-02", "FN-SM-03", "FN-SM-04"}),
    "models": (0.02, {"FN-GM-01"}),
}


@pytest.mark.parametrize(
    "design",
    ["numbers", "evidence", *(pytest.param(name, marks=pytest.mark.slow) for name in ("chains", "models"))],
)
def test_exact_lines_are_the_same_for_every_seed_and_no_others_are(design: str) -> None:
    effort, slow = DESIGNS[design]
    first, *others = (Computed(design, seed, effort) for seed in (1, 2, 3))
    for claim in set(first.claims) - slow:
        for setting, found in first.measured(claim).items():
            line = f"{claim} {setting}"
            if found.exact:
                assert found.error == 0.0, line
                assert found.value == others[0].value(claim, setting), line
                continue
            # A share of none or all may stay so, and knows how large it could be.
            assert found.error > 0.0, line
            # Few trials can agree by chance, but hardly with two others.
            alike = all(found.value == other.value(claim, setting) for other in others)
            assert not alike or found.value in (0.0, 1.0), f"{line} is a constant that is not declared exact"
