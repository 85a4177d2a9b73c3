"""Names of the study's cases, and single values of its summary."""

import pandas as pd

from auxmc_pipeline.lookup import MissingData, find

NUTS_CASE = "nuts"
CENTRED_CASE = "centred"
GIBBS_CASE = "hmc__method-gibbs_ct"
CT_HMC_CASE = "hmc__method-ct_hmc"
AIS_CASE = "ais"


def value_of(summary: pd.DataFrame, case: str, quantity: str) -> float:
    """A quantity of a case that has one value.

    Raises:
        MissingData: the table does not have it.
    """
    found = find(summary, case, quantity)
    if found is None:
        raise MissingData(f"{quantity} of the case {case}: not run at this preset")
    return float(found)
