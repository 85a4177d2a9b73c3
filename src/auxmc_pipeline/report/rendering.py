"""Fills the templates of the page with what it says."""

import datetime

import jinja2

from auxmc_pipeline.judging.documents import FRONT
from auxmc_pipeline.judging.verdicts import VERDICTS
from auxmc_pipeline.report.figures import LARGEST_VECTOR_BYTES
from auxmc_pipeline.report.markdown import breakable, prose
from auxmc_pipeline.report.numbers import number, seconds
from auxmc_pipeline.report.page import Page
from auxmc_pipeline.report.provenance import machines, rule_costs

_TEMPLATES = FRONT.parent


def render(page: Page, root: str) -> str:
    """The page as HTML text.

    Args:
        page: of `read_page`.
        root: folder of the project relative to the page; empty for files that are named without a link.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "seconds": seconds,
        "prose": prose,
        "breakable": breakable,
        "dashed": lambda text: text.replace(" ", "-"),
    }
    records = [record for study in page.studies for record in study.records]
    # The date of the newest result, not of the page: the same results give the same page.
    created = max((str(record.attributes.get("created", "")) for record in records), default="")
    return environment.get_template("report.html.j2").render(
        page=page,
        verdicts=VERDICTS,
        root=root,
        created=datetime.datetime.fromisoformat(created).strftime("%d %B %Y") if created else "unknown date",
        machines=machines(records),
        rules=[]
        if page.is_published
        else rule_costs(page.preset, {study.name: study.records for study in page.studies}),
        vector_limit_kb=LARGEST_VECTOR_BYTES // 1000,
    )
