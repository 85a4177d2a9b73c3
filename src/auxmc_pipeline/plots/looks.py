"""What methods and quantities look like and are called in all figures."""

import textwrap
from types import MappingProxyType

# Label, marker and colour: those of the published figures; that of a method which they do not colour is Okabe and
# Ito's sky blue.
_METHODS = {
    "pm_mh": ("PM MH", "o", "#0072B2"),
    "apm_mi_mh": ("APM MI+MH", "s", "#009E73"),
    "apm_ss_mh": ("APM SS+MH", "^", "#D55E00"),
    "apm_mi_ss": ("APM MI+SS", "D", "#56B4E9"),
    "apm_ss_ss": ("APM SS+SS", "v", "#CC79A7"),
    "cpm_mh": ("CPM MH", "P", "#000000"),
    "apm_cn_mh": ("APM CN+MH", "X", "#E69F00"),
    "apm_rw_mh": ("APM RW+MH", "<", "#999933"),
    "pm_hmc": ("PM HMC", "*", "#882255"),
    "gibbs_ct": ("Gibbs CT", "o", "#0072B2"),
    "ct_hmc": ("CT-HMC", "s", "#009E73"),
    "st": ("ST", "^", "#56B4E9"),
    "ais": ("AIS", "D", "#D55E00"),
    "nuts": ("NUTS", "v", "#CC79A7"),
}
METHOD_LABELS, METHOD_MARKERS, METHOD_COLOURS = (
    MappingProxyType({name: look[part] for name, look in _METHODS.items()}) for part in range(3)
)
QUANTITY_COLOURS = MappingProxyType(
    {
        "ess": "#1B9E77",
        "accept": "#D95F02",
        "exact_density": "#D95F02",
        "samples": "#1B9E77",
        "trace": "#1B9E77",
        "reference": "#555555",
    }
)


def readable(name: str) -> str:
    """Turns a method key or a settings name into words for a label.

    >>> readable("apm_mi_mh"), readable("n_importance"), readable("ess_per_evaluation")
    ('APM MI+MH', 'n importance', 'ESS per evaluation')
    """
    acronyms = ("abc", "ais", "ess", "hmc", "mcmc", "nuts", "pm", "psrf", "ss")
    words = (word.upper() if word in acronyms else word for word in name.split("_"))
    return METHOD_LABELS.get(name, " ".join(words))


def wrapped(text: str, width: int) -> str:
    """Breaks a text into lines of at most `width` characters, words kept whole."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
